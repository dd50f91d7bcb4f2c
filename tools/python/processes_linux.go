package python

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one process of a sandbox, by its number on this machine.
type process struct {
	pid, parent int
	state       byte
}

// running says whether there is more of a process than its number.
func (p process) running() bool { return p.state != 'Z' && p.state != 'X' }

// below lists the processes under one, which are those of its sandbox, as every
// process of a namespace descends from its first, or is given to it. It is sure
// when none that was there in the middle of it is missing: the kernel lists by
// number and new ones have higher numbers, so that only one that ended before it
// was looked at is missed, and with it one that it started later.
func below(pid int) (list []process, sure bool, err error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = dir.Close() }() // nothing was written
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, false, err
	}
	children := map[int][]process{}
	sure = true
	for _, name := range names {
		n, err := strconv.Atoi(name)
		if err != nil {
			continue // no process
		}
		p, ok := processOf(n)
		if !ok {
			sure = false
			continue
		}
		children[p.parent] = append(children[p.parent], p)
	}
	list = children[pid]
	for i := 0; i < len(list); i++ {
		list = append(list, children[list[i].pid]...)
	}
	return list, sure, nil
}

// processOf reads proc_pid_stat(5). The name in it may hold anything.
func processOf(pid int) (process, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	_, rest, ok := bytes.Cut(stat[max(bytes.LastIndexByte(stat, ')'), 0):], []byte(" "))
	fields := bytes.Fields(rest)
	if !ok || len(fields) < 2 {
		return process{}, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return process{pid: pid, parent: parent, state: fields[0][0]}, err == nil
}

// memoryOf sums the memory of processes, without parts that the kernel can read again
// from a file. It counts shared pages once, when that makes a difference.
func memoryOf(list []process, most int64) int64 {
	sum := int64(0)
	for _, p := range list {
		own, _ := kibibytes(p.pid, "status", "RssAnon:", "RssShmem:")
		sum += own
	}
	if sum <= most || len(list) == 1 {
		return sum
	}
	sum = 0
	for _, p := range list {
		own, ok := kibibytes(p.pid, "smaps_rollup", "Pss_Anon:", "Pss_Shmem:")
		if !ok { // an old kernel
			own, _ = kibibytes(p.pid, "status", "RssAnon:", "RssShmem:")
		}
		sum += own
	}
	return sum
}

// kibibytes adds up lines of a file about a process, as bytes; not ok says that
// there is none. A process that has ended has no memory.
func kibibytes(pid int, file string, names ...string) (sum int64, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !slices.Contains(names, fields[0]) {
			continue
		}
		if n, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			sum, ok = sum+n*1024, true
		}
	}
	return sum, ok
}

// unlinkedOf sums the processes' files that no folder shows: removed while they were
// open or mapped. A mapping does not tell the size of its file, so a few of them count
// as the limit.
func unlinkedOf(list []process, most int64) (int64, error) {
	sizes := map[uint64]int64{} // by inode
	for _, p := range list {
		err := addOpen(sizes, p.pid)
		if err == nil {
			err = addMapped(sizes, p.pid, most/mappedMost)
		}
		if err == nil {
			continue
		}
		// An ended process keeps nothing, and its state may differ between readers.
		if now, ok := processOf(p.pid); ok && now.running() {
			return 0, err
		}
	}
	sum := int64(0)
	for _, size := range sizes {
		sum += size
	}
	return sum, nil
}

const mappedMost = 8

func addOpen(sizes map[uint64]int64, pid int) error {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		var stat syscall.Stat_t
		switch err := syscall.Stat(dir+"/"+e.Name(), &stat); {
		case errors.Is(err, os.ErrNotExist): // closed meanwhile
			continue
		case err != nil:
			return err
		}
		if stat.Mode&syscall.S_IFMT == syscall.S_IFREG && stat.Nlink == 0 {
			sizes[stat.Ino] = stat.Blocks * 512
		}
	}
	return nil
}

// addMapped reads proc_pid_maps(5).
func addMapped(sizes map[uint64]int64, pid int, size int64) error {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		if len(fields) < 6 || !strings.HasPrefix(fields[5], "/thread/") || fields[len(fields)-1] != "(deleted)" {
			continue
		}
		inode, err := strconv.ParseUint(fields[4], 10, 64)
		if err != nil {
			return fmt.Errorf("read mappings: %w", err)
		}
		sizes[inode] = max(sizes[inode], size)
	}
	return nil
}

// find takes hold of the sandbox's processes while there are only two: the first
// one, which is bwrap's own, and its child, the interpreter.
func (i *interpreter) find() error {
	list, _, err := below(i.bwrap.Process.Pid)
	if err != nil {
		return fmt.Errorf("look for the interpreter: %w", err)
	}
	if len(list) != 2 || list[1].parent != list[0].pid {
		return errors.New("look for the interpreter: the sandbox has other processes than expected")
	}
	if i.first, err = os.FindProcess(list[0].pid); err != nil {
		return fmt.Errorf("hold the sandbox: %w", err)
	}
	if i.python, err = os.FindProcess(list[1].pid); err != nil {
		return fmt.Errorf("hold the interpreter: %w", err)
	}
	return nil
}

// freeze stops the interpreter and ends everything else that it started; it
// says how many that were. After an error something may still run.
func (i *interpreter) freeze() (ended int, err error) {
	if err := i.python.Signal(syscall.SIGSTOP); err != nil {
		return 0, fmt.Errorf("stop the interpreter: %w", err)
	}
	killed, dead := map[int]bool{}, map[int]bool{}
	for range i.waits.freeze {
		list, still, err := below(i.first.Pid)
		if err != nil {
			return 0, fmt.Errorf("look at the sandbox: %w", err)
		}
		for _, p := range list {
			switch {
			case p.pid == i.python.Pid:
				still = still && p.state == 'T'
			case p.running():
				still = false
				killed[p.pid] = true
				// It may be gone. Numbers are given out in turn, so that it is not
				// another's yet.
				if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
					return 0, fmt.Errorf("end a process of the sandbox: %w", err)
				}
			default:
				// It may have started another one before it ended.
				still = still && dead[p.pid]
				dead[p.pid] = true
			}
		}
		if still {
			return len(killed), nil
		}
		time.Sleep(time.Millisecond)
	}
	return 0, errors.New("end the sandbox's processes: some go on")
}
