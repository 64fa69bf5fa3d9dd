/* Put before the library by tests/test_systems.sh, over the headers of musl: what Android's C library has and they lack. The script adds the
   names that came after Android 5.0, poisoned, from tests/bionic.txt. All that llm_impl.h includes stands here, because a poisoned name
   may not be declared any more. */
#define _GNU_SOURCE 1
#define __BIONIC__ 1
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
extern ssize_t pread64(int fd, void *dst, size_t n, int64_t offset);
extern int64_t lseek64(int fd, int64_t offset, int whence);
extern void *mmap64(void *at, size_t bytes, int prot, int flags, int fd, int64_t offset);
#undef POSIX_MADV_WILLNEED
#undef POSIX_MADV_RANDOM
#undef POSIX_MADV_SEQUENTIAL
#undef POSIX_MADV_DONTNEED
