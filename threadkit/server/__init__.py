"""Starting and stopping: the parent process, its store and its workers."""
