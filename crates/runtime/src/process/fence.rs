//! How a process is closed in, as far as starting it is concerned. What closes it in is decided elsewhere.

use fugato_model::Words;
use std::fmt::Debug;
use std::io;

/// Closes in every process that is started with it, and everything that process starts.
pub trait Fence: Debug + Send + Sync {
    /// On the thread that starts the process, before it forks: may open files and allocate.
    fn prepare(&self) -> Result<Box<dyn Gate>, Words>;
}

/// What is left to do between fork and exec.
pub trait Gate: Send + Sync {
    /// System calls only: another thread may have held the allocator's lock when the process was forked.
    fn pass(&self) -> io::Result<()>;
}
