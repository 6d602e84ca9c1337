//! The system's own notice that a file was written: one descriptor for the whole run, a read that costs a microsecond when
//! nothing happened.

use std::path::PathBuf;

/// What was written since the last look.
#[derive(Debug)]
pub(super) enum Heard {
    Nothing,
    These(Vec<PathBuf>),
    /// More than could be told one by one.
    TooMuch,
}

#[cfg(target_os = "linux")]
mod by_system {
    use super::{Heard, PathBuf};
    use rustix::fd::OwnedFd;
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;
    use std::collections::{BTreeSet, HashMap};
    use std::ffi::OsStr;
    use std::mem::MaybeUninit;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::Path;

    #[derive(Debug)]
    pub struct Listener {
        notices: OwnedFd,
        places: HashMap<i32, PathBuf>,
        /// The system allows no more watches: from now on everything counts as written, now and then.
        is_full: bool,
        looks: u32,
    }

    /// A tenth of a second each: how often everything is looked at when the system cannot say.
    const EVERY: u32 = 20;

    impl Listener {
        pub fn on(dir: &Path) -> Option<Self> {
            let notices = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
            let mut listener = Self { notices, places: HashMap::new(), is_full: false, looks: 0 };
            // A writer that stops in the middle of `control.json` may keep it open for ever: that is to be said.
            listener.watch(dir, WatchFlags::MODIFY).then_some(listener)
        }

        /// `false`: there is no such directory.
        pub fn add(&mut self, dir: &Path) -> bool {
            self.watch(dir, WatchFlags::empty())
        }

        fn watch(&mut self, dir: &Path, more: WatchFlags) -> bool {
            // Written and closed, or moved into place; never what is only read.
            let wanted = WatchFlags::CLOSE_WRITE
                | WatchFlags::MOVED_TO
                | WatchFlags::ONLYDIR
                | WatchFlags::DONT_FOLLOW
                | more;
            match inotify::add_watch(&self.notices, dir, wanted) {
                Ok(number) => {
                    self.places.insert(number, dir.to_owned());
                    true
                }
                Err(Errno::NOSPC) => {
                    self.is_full = true;
                    true
                }
                Err(_) => false,
            }
        }

        pub fn heard(&mut self) -> Heard {
            let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
            let mut reader = inotify::Reader::new(&self.notices, &mut buffer);
            let mut changed = BTreeSet::new();
            let mut is_too_much = false;
            while let Ok(event) = reader.next() {
                is_too_much |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
                let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                let wanted = name.filter(|name| *name == "control.json" || *name == "inbox.jsonl");
                if let (Some(name), Some(place)) = (wanted, self.places.get(&event.wd())) {
                    changed.insert(place.join(name));
                }
            }
            self.looks = self.looks.wrapping_add(1);
            if is_too_much || (self.is_full && self.looks.is_multiple_of(EVERY)) {
                Heard::TooMuch
            } else if changed.is_empty() {
                Heard::Nothing
            } else {
                Heard::These(changed.into_iter().collect())
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod by_system {
    use super::Heard;
    use std::path::Path;

    /// Everything is looked at every two seconds.
    #[derive(Debug)]
    pub struct Listener {
        looks: u32,
    }

    impl Listener {
        pub fn on(_dir: &Path) -> Option<Self> {
            Some(Self { looks: 0 })
        }

        pub fn add(&mut self, dir: &Path) -> bool {
            dir.is_dir()
        }

        pub fn heard(&mut self) -> Heard {
            self.looks = self.looks.wrapping_add(1);
            if self.looks.is_multiple_of(20) { Heard::TooMuch } else { Heard::Nothing }
        }
    }
}

pub(super) use by_system::Listener;
