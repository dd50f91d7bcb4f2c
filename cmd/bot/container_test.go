package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/internal/fakellm"
)

// containerRoot is what deploy/Containerfile makes: a system that can't be written to,
// the user that is named there, and one folder of its own with the configuration.
type containerRoot struct {
	t    *testing.T
	args []string
}

// newContainerRoot makes one. What proc is says how far it is shut: ordinary
// containers cover parts of it, and the kernel then forbids another one in there.
func newContainerRoot(t *testing.T, conf string, proc ...string) containerRoot {
	t.Helper()
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
	if err := os.WriteFile(filepath.Join(state, "nod.yaml"), []byte("store: sqlite:/var/lib/nod/nod.db\n"+conf), 0o644); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append(proc, []string{
		"--unshare-user", "--uid", user[1], "--gid", user[2], "--die-with-parent", "--clearenv",
		"--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/var/lib/nod",
		"--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--ro-bind", "/etc", "/etc",
		"--dev", "/dev", "--tmpfs", "/tmp", "--bind", state, "/var/lib/nod",
		"--ro-bind", self, "/run/bot", "--chdir", "/var/lib/nod", "--remount-ro", "/", "/run/bot",
	}...)
	return containerRoot{t, args}
}

// bot runs the program in there, and gives what it printed.
func (c containerRoot) bot(in string, argv ...string) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 3*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bwrap", slices.Concat(c.args, argv)...)
	cmd.Stdin, cmd.WaitDelay = strings.NewReader(in), 5*time.Second
	out, err := cmd.CombinedOutput()
	if err != nil && strings.HasPrefix(string(out), "bwrap:") && strings.Contains(string(out), "ermi") { // permission, permitted
		c.t.Skipf("no such root can be made here: %s", out)
	}
	return string(out)
}

// python gives what check says of the tool.
func (c containerRoot) python() string {
	c.t.Helper()
	out := c.bot("", "check", "--config", "/var/lib/nod/nod.yaml")
	line := regexp.MustCompile(`(?m)^(ok|off) +tool python: .+$`).FindString(out)
	if line == "" {
		c.t.Fatalf("nothing is said of python:\n%s", out)
	}
	return line
}

// In a container as most are, the program answers a question, and its Python is off
// and says why, or runs in its sandbox; it never runs without.
func TestContainerRoot(t *testing.T) {
	t.Parallel()
	c := newContainerRoot(t, "tools: {calculator: , clock: , python: }\n", "--unshare-pid", "--proc", "/proc")
	if out := c.bot("what is 17% of 2340?\n", "chat", "--config", "/var/lib/nod/nod.yaml"); !strings.Contains(out, "397.8") {
		t.Errorf("no answer:\n%s", out)
	}
	t.Log(c.python())
}

// In one that allows namespaces Python runs in its sandbox: as somebody else's program
// would, it does not see the store that lies beside it.
func TestContainerPython(t *testing.T) {
	t.Parallel()
	model := fakellm.Start(t, func(req fakellm.Request) fakellm.Reply {
		if req.Last().Role == "tool" {
			return fakellm.Reply{Text: "The tool says: " + req.Last().Text()}
		}
		return fakellm.Reply{Calls: []fakellm.Call{{Name: "python", Args: `{"code":"import os\n(6 * 7, os.path.exists(\"/var/lib/nod/nod.db\"))"}`}}}
	})
	c := newContainerRoot(t, "llm: {base_url: \""+model.URL+"\", api_key: k, model: m}\ntools: {python: }\n", "--bind", "/proc", "/proc")
	if line := c.python(); strings.HasPrefix(line, "off") {
		t.Skip(line)
	}
	if out := c.bot("what is six times seven?\n", "chat", "--config", "/var/lib/nod/nod.yaml"); !strings.Contains(out, "(42, False)") {
		t.Errorf("Python did not answer:\n%s", out)
	}
}
