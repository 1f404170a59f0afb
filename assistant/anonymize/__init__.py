"""Copies of logs and bundles that can be shown in public and still give the same diagnosis.

    from assistant.anonymize.run import Options, anonymize
    anonymize(["logs/"], Options(output="public/"))

Two passes over the input: the first learns names and addresses, the second replaces them, the same one by the same
pseudonym in all files. Each pass runs the same steps (`steps.replace_all`) over the texts; what differs is what `Pseudonyms`
does with a name: it notes it, or answers with its pseudonym.
"""
