"""Names of persons and contacts, and the marks in their place (docs/protocol.md §6.3). Pure.

Public: `proposer` (which words may be names), `names` (the forms of a name), `marks` (puts marks into a text),
`listed` (words that somebody listed) and `contacts`.
"""
