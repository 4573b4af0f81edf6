"""Live pages: what happens on a page reaches everybody who looks at it, over WebSocket or Server-Sent Events."""
