"""Pages that show a report in a browser: one file, no network, nothing but HTML, CSS and a script.

``page`` writes them, ``view`` says what stands on them, ``plots`` draws, ``templates`` lays out.
"""
