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
// system's cache, some microseconds for 64 KB.
func dropPages() error {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("find own program: %w", err)
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return fmt.Errorf("look at own memory: %w", err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	var at span
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch {
		case !strings.HasSuffix(fields[0], ":"):
			at = spanOf(fields, exe)
		case fields[0] == "Anonymous:" && fields[1] == "0": // no page of it was ever written to
			at.drop()
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("look at own memory: %w", err)
	}
	return nil
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
func (s span) drop() {
	if s.to > s.from {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, s.from, s.to-s.from, unix.MADV_DONTNEED)
	}
}
