package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// dropPages gives back what of the program's own file is in memory: code and tables,
// most of which only the start needed. Whatever is needed again comes back from the
// system's cache, some microseconds for 64 KB, or for as much as the cache keeps
// together: how much is soon there again is the system's affair. It returns how many
// KiB went.
func dropPages() (kib int, err error) {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return 0, fmt.Errorf("find own program: %w", err)
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return 0, fmt.Errorf("look at own memory: %w", err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	var at span
	var there int // of it is in memory
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch {
		case !strings.HasSuffix(fields[0], ":"):
			at = spanOf(fields, exe)
		case fields[0] == "Rss:" && at != span{}:
			there, _ = strconv.Atoi(fields[1])
		case fields[0] == "Anonymous:" && fields[1] == "0" && at.drop(): // no page of it was ever written to
			kib += there
		}
	}
	if err := lines.Err(); err != nil {
		return kib, fmt.Errorf("look at own memory: %w", err)
	}
	return kib, nil
}

// span is where a part of a file lies in memory.
type span struct{ from, to uintptr }

// spanOf reads a line of proc_pid_smaps(5) that begins a mapping; the zero span is one
// of something else than the file, or one that can be written to.
func spanOf(fields []string, file string) span {
	if len(fields) < 6 || strings.Join(fields[5:], " ") != file || strings.Contains(fields[1], "w") {
		return span{}
	}
	from, to, _ := strings.Cut(fields[0], "-")
	begin, err1 := strconv.ParseUint(from, 16, 64)
	end, err2 := strconv.ParseUint(to, 16, 64)
	if err1 != nil || err2 != nil {
		return span{}
	}
	return span{uintptr(begin), uintptr(end)}
}

// drop unmaps the pages, which is only a hint: nothing is lost when it fails.
func (s span) drop() bool {
	if s.to <= s.from {
		return false
	}
	_, _, errno := unix.Syscall(unix.SYS_MADVISE, s.from, s.to-s.from, unix.MADV_DONTNEED)
	return errno == 0
}
