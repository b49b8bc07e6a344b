"""Names of persons and contacts, and the marks that replace them (docs/protocol.md §6.3). Pure.

Public: `proposer` (finds possible names), `names` (the forms of a name), `marks` (puts marks into a text), `listed`
(names that a person listed) and `contacts`.
"""
