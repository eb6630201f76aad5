"""What plugs reme-compact into agent frameworks; each module needs the framework that it is named after."""
