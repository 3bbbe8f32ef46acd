"""The rows of the catalogue of causes, by family: id, subject, title, symptom, fix."""
