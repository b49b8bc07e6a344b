"""The console: pages rendered on the server from `templates/`. Public: `app`, and for exports `report`.

`routes` has one module for each page. All pages use `pages` and `texts`.
"""
