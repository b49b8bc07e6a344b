"""Relations and tasks as SVG and Mermaid. Public: `files`."""
