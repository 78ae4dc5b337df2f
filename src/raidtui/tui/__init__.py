"""The screens: a Textual application that reaches storage through the client alone."""
