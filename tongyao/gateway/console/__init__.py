"""The console: pages rendered on the server from `templates/`. Public: `app`; for exports `report`.

`routes` has one module for each page, `pages` and `texts` what all pages share.
"""
