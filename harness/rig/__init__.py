"""What runs inside any release's environment: standard library, torch, corpus, wire and rig."""
