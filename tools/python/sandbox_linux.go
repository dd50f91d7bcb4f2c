package python

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"nod/tools"
)

// The programs. Those that run inside are found where the sandbox has them, so
// that a Python of the operator's own is not taken for the system's.
const (
	prlimitPath = "/usr/bin/prlimit"
	pythonPath  = "/usr/bin/python3"
	install     = "apt-get install bubblewrap python3 python3-matplotlib python3-pandas"
)

const (
	// insideID is the user and the group inside, which is nobody outside.
	insideID = 1000
	// outsideID is the user of the sandbox if this process runs as root: no account,
	// from a range that Debian reserves. The kernel does not limit root's processes,
	// whatever their user inside is.
	outsideID = 58913

	processesMost = 64                // watched
	processesHard = 2 * processesMost // by the kernel, which counts threads too
	filesOpen     = 128
	tmpSize       = 32 << 20 // of each folder that lives in memory
	codeSpace     = 1 << 30  // address space, for libraries and their reservations
)

// sandbox knows how interpreters are started.
type sandbox struct {
	bwrap      string
	fonts      string              // the folder with matplotlib's list of fonts
	credential *syscall.Credential // the sandbox's user; nil: this process's
	filter     []byte
	o          Options
}

// newSandbox finds the parts of a sandbox.
func newSandbox(o Options) (*sandbox, error) {
	var missing []string
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		missing = append(missing, "bubblewrap")
	}
	for path, name := range map[string]string{pythonPath: "python3", prlimitPath: "prlimit (util-linux)"} {
		if _, err := os.Stat(path); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, off("%s is missing; %s", strings.Join(missing, " and "), install)
	}
	s := &sandbox{bwrap: bwrap, o: o}
	if s.credential, err = otherUser(); err != nil {
		return nil, err
	}
	s.filter, err = systemCallFilter()
	return s, err
}

// off is why there is no tool, for the operator.
func off(format string, a ...any) error {
	return &tools.Missing{Why: "python is off: " + fmt.Sprintf(format, a...)}
}

// otherUser gives the user that replaces root. In a rootless container root stands for
// an ordinary user without another one, and is good enough.
func otherUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"/proc/self/uid_map", "/proc/self/gid_map"} {
		table, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read users of this machine: %w", err)
		}
		mapped, zero := false, false
		for line := range strings.Lines(string(table)) {
			var inside, outside, count int64
			if _, err := fmt.Sscan(line, &inside, &outside, &count); err != nil {
				return nil, fmt.Errorf("read users of this machine: %w", err)
			}
			mapped = mapped || inside <= outsideID && outsideID < inside+count
			zero = zero || inside == 0 && outside == 0
		}
		if !mapped && zero {
			return nil, off("the bot runs as root and no other user can be; run it as an ordinary user")
		}
		if !mapped {
			return nil, nil
		}
	}
	return &syscall.Credential{Uid: outsideID, Gid: outsideID}, nil
}

// reachable says whether the sandbox's user can enter a folder.
func (s *sandbox) reachable(dir string) error {
	if s.credential == nil {
		return nil
	}
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return fmt.Errorf("look at python's folder: %w", err)
		}
		if info.Mode()&1 == 0 {
			return off("others may not enter %s, where its folder is, and when the bot runs as root the interpreters run as user %d; "+
				"run the bot as an ordinary user, or choose another folder", at, outsideID)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// give makes the sandbox's user the owner of a file or folder.
func (s *sandbox) give(f *os.File) error {
	if s.credential == nil {
		return nil
	}
	return f.Chown(int(s.credential.Uid), int(s.credential.Gid))
}

// args start an interpreter. Its descriptors 3 and 4 are those of the driver; from 5
// bwrap reads the filter, and from 6 its options, since code can read its arguments.
func (s *sandbox) args() []string {
	return []string{
		"--args", "6",
		"--", prlimitPath, "--core=0", "--memlock=0", "--msgqueue=0",
		fmt.Sprintf("--nproc=%d", processesHard), fmt.Sprintf("--nofile=%d", filesOpen), fmt.Sprintf("--fsize=%d", s.o.Disk/2),
		fmt.Sprintf("--data=%d", s.o.Memory), fmt.Sprintf("--as=%d", s.o.Memory+codeSpace),
		"--", pythonPath, "-I", "-B", "-X", "utf8", "-c", driver,
	}
}

// options are bwrap's for an interpreter whose working folder is dir, each with a
// zero byte behind it.
func (s *sandbox) options(dir string) []byte {
	id, tmp := strconv.Itoa(insideID), strconv.Itoa(tmpSize)
	args := []string{
		"--unshare-user", "--unshare-all", "--disable-userns", "--uid", id, "--gid", id, "--hostname", "sandbox",
		"--cap-drop", "ALL", "--new-session", "--die-with-parent", "--seccomp", "5",
		"--clearenv", "--setenv", "PATH", "/usr/bin", "--setenv", "HOME", "/tmp", "--setenv", "LANG", "C.UTF-8", "--setenv", "TZ", "UTC",
		"--setenv", "MPLBACKEND", "Agg", "--setenv", "MPLCONFIGDIR", "/tmp/.matplotlib", "--setenv", "OPENBLAS_NUM_THREADS", "1",
	}
	args = append(args, system()...)
	args = append(args,
		"--proc", "/proc", "--ro-bind", "/dev/null", "/proc/cmdline", "--ro-bind", "/dev/null", "/proc/keys",
		"--dev", "/dev", "--size", tmp, "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
		"--size", tmp, "--tmpfs", "/tmp", "--ro-bind", s.fonts, "/fonts", "--bind", dir, "/thread", "--chdir", "/thread", "--remount-ro", "/")
	return []byte(strings.Join(args, "\x00") + "\x00")
}

// system shows the programs and their configuration, and the needed parts of /etc.
func system() []string {
	var args []string
	for _, dir := range []string{"/bin", "/lib", "/lib32", "/lib64", "/libx32"} {
		info, err := os.Lstat(dir)
		switch {
		case err != nil:
		case info.Mode()&fs.ModeSymlink != 0:
			if to, err := os.Readlink(dir); err == nil {
				args = append(args, "--symlink", to, dir)
			}
		default:
			args = append(args, "--ro-bind", dir, dir)
		}
	}
	for _, path := range []string{
		"/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/libexec", "/usr/share",
		"/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache", "/etc/matplotlibrc",
	} {
		args = append(args, "--ro-bind-try", path, path)
	}
	return args
}
