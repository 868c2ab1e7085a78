"""Plans of jobs: made, previewed, kept until they are submitted."""
