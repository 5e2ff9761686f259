//! How the system's allocator keeps what was freed.

#![expect(unsafe_code, reason = "two calls of glibc that touch nothing of ours")]

/// For glibc, which else gives threads arenas of their own, many times the cores, and returns
/// little of them: a server that had 150 MB in use held 530. Where another allocator is at
/// work nothing is to be set. To be called before threads are made.
pub fn keep_few_arenas() {
    #[cfg(target_env = "gnu")]
    {
        const ARENAS: i32 = 2;
        // SAFETY: takes two numbers, and no other thread allocates yet.
        let set = unsafe { libc::mallopt(libc::M_ARENA_MAX, ARENAS) };
        debug_assert_eq!(set, 1, "glibc knows this setting");
    }
}

/// Gives the system back what is free between what is in use. glibc gives back by itself only
/// what is free at the end of an arena, so that a server's memory crept up from peak to peak.
pub fn give_back_free_memory() {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: takes a number; glibc locks each arena while it looks through it.
        unsafe { libc::malloc_trim(0) };
    }
}
