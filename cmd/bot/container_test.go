package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The program in what deploy/Containerfile makes: a system that can't be written to,
// the user that is named there, and one folder of its own. It answers a question, and
// its Python runs in its sandbox or is off and says why; it never runs without.
func TestContainerRoot(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("bwrap is not here")
	}
	file, err := os.ReadFile("../../deploy/Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	user := regexp.MustCompile(`(?m)^USER (\d+):(\d+)$`).FindStringSubmatch(string(file))
	if user == nil {
		t.Fatal("the Containerfile names no user")
	}
	state := t.TempDir()
	conf := "store: sqlite:/var/lib/nod/nod.db\ntools: {calculator: , clock: , python: }\n"
	if err := os.WriteFile(filepath.Join(state, "nod.yaml"), []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	inside := func(in string, argv ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
		defer cancel()
		args := []string{
			"--unshare-user", "--unshare-pid", "--uid", user[1], "--gid", user[2], "--die-with-parent", "--clearenv",
			"--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/var/lib/nod",
			"--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--ro-bind", "/etc", "/etc",
			"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", state, "/var/lib/nod",
			"--ro-bind", self, "/run/bot", "--chdir", "/var/lib/nod", "--remount-ro", "/", "/run/bot",
		}
		cmd := exec.CommandContext(ctx, "bwrap", append(args, argv...)...)
		cmd.Stdin, cmd.WaitDelay = strings.NewReader(in), 5*time.Second
		out, err := cmd.CombinedOutput()
		if err != nil && strings.HasPrefix(string(out), "bwrap:") {
			t.Skipf("no such root can be made here: %s", out)
		}
		return string(out)
	}
	if out := inside("what is 17% of 2340?\n", "chat", "--config", "/var/lib/nod/nod.yaml"); !strings.Contains(out, "397.8") {
		t.Errorf("no answer:\n%s", out)
	}
	out := inside("", "check", "--config", "/var/lib/nod/nod.yaml")
	if !regexp.MustCompile(`(?m)^(ok|off) +tool python: .+`).MatchString(out) {
		t.Errorf("nothing is said of python:\n%s", out)
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, "python") {
			t.Log(strings.TrimSpace(line))
		}
	}
}
