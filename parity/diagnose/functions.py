def explain_functions(report, callers, inputs, base, wide):
    return report
