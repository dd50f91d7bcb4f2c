package main

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"nod/internal/fakeslack"
	"nod/internal/redistest"
)

// A copy that was made while the service ran, by the commands of docs/operate.md, in another
// folder after all else was lost: the approval that waited goes on, the call runs once, and
// the audit log is whole.
func TestBackupSQLite(t *testing.T) {
	t.Parallel()
	n := newService(t, newSlackWorld(t, fakeslack.Options{NoLimits: true}), obedient, setup{})
	c := copied{n, t.TempDir(), ""}
	n.goesOn(func() { c.save("VACUUM INTO") }, c.move)
}

func TestBackupRedis(t *testing.T) {
	t.Parallel()
	server := startCopied(t)
	n := newService(t, newSlackWorld(t, fakeslack.Options{NoLimits: true}), obedient, setup{store: server.URL()})
	c := copied{n, t.TempDir(), server.URL()}
	n.goesOn(func() { c.save("--rdb") }, func() {
		c.move()
		n.restartRedis(server, c.dir)
	})
}

// copied is a copy of a service in a folder, as docs/operate.md says.
type copied struct {
	n        *service
	dir, url string
}

// save makes the copy: the files, and the store by the block that holds that word. Nobody
// else may read it.
func (c copied) save(word string) {
	t := c.n.t
	if err := os.MkdirAll(filepath.Join(filepath.Dir(c.n.file), "skills"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"nod.mcp.lock": `{"servers": {}}`, "nod.skills.lock": `{"skills": {}}`, "nod.factor": "", "nod.key.erased": ""} { // that not every service has
		if err := os.WriteFile(filepath.Join(filepath.Dir(c.n.file), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.follow("nod.key.checkpoint /backup/")
	c.follow(word)
	if err := filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if info, _ := d.Info(); !d.IsDir() && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// follow runs the block of commands of docs/operate.md that holds some words, and gives
// what it prints.
func (c copied) follow(words string) string {
	out, err := c.run(words)
	if err != nil {
		c.n.t.Fatalf("%s: %v\n%s", words, err, out)
	}
	return out
}

func (c copied) run(words string) (string, error) {
	t, here := c.n.t, filepath.Dir(c.n.file)
	for i, block := range strings.Split(operatePage(t), "```") {
		commands, ok := strings.CutPrefix(block, "sh\n")
		if i%2 == 0 || !ok || !strings.Contains(commands, words) {
			continue
		}
		commands = strings.NewReplacer("/etc/nod/nod.yaml", c.n.file, "/etc/nod", here, "/var/lib/nod", here, "/backup", c.dir,
			"redis://host:6379/0", c.url, "URL", c.url, "127.0.0.1:8080", c.n.http).Replace(commands)
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", commands) //nolint:gosec // the page is ours
		cmd.Env = os.Environ()
		for k, v := range c.n.w.env() {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	t.Fatalf("docs/operate.md has no commands with %s", words)
	return "", nil
}

// operatePage is docs/operate.md.
func operatePage(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// move leaves nothing of the service but the copy.
func (c copied) move() {
	if err := os.RemoveAll(filepath.Dir(c.n.file)); err != nil {
		c.n.t.Fatal(err)
	}
	c.n.file = filepath.Join(c.dir, "nod.yaml")
}

// sqliteShell stands in for the shell of SQLite: sqlite3 FILE SQL.
func sqliteShell() {
	db, err := sql.Open("sqlite", "file:"+os.Args[1])
	if err == nil {
		_, err = db.ExecContext(context.Background(), os.Args[2])
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// copySQLite makes a copy of the store, and brings it back.
func (n *service) copySQLite() (save, restore func()) {
	c := copied{n, n.t.TempDir(), ""}
	return func() { c.save("VACUUM INTO") }, func() { c.follow("rm -f") }
}

// startCopied starts a Redis server that copyRedis can copy.
func startCopied(t *testing.T) *redistest.Server {
	t.Helper()
	if _, err := exec.LookPath("redis-cli"); err != nil {
		t.Skip("redis-cli is not here")
	}
	return redistest.Start(t)
}

// copyRedis does the same for a Redis server.
func (n *service) copyRedis(server *redistest.Server) (save, restore func()) {
	c := copied{n, n.t.TempDir(), server.URL()}
	return func() { c.save("--rdb") }, func() { n.restartRedis(server, c.dir) }
}

// restartRedis has a server begin from the copy in a folder.
func (n *service) restartRedis(server *redistest.Server, dir string) {
	server.Kill(n.t)
	restored := redistest.Start(n.t, "--dir", dir, "--appendonly", "no")
	redisCLI(n.t, restored, "CONFIG", "SET", "appendonly", "yes")
	n.file = n.rewrite("restored.yaml", server.URL(), restored.URL())
}

// goesOn plays a turn whose approval waits while the store is saved, lost and brought
// back.
func (n *service) goesOn(save, restore func()) {
	n.t.Helper()
	n.start()
	at := n.w.mention("ada", "deploy prod now")
	asked := n.ask(at, `{"env":"prod"}`)
	eventually(n.t, "the approval is noted", func() bool { return n.waits() == 1 })
	save()
	n.stop()
	key := n.verified()
	restore()
	missed := n.w.mention("bob", "hello while it was down")
	n.start()
	n.find(missed, "hello")
	eventually(n.t, "the approval waits", func() bool { return n.waits() == 1 })
	n.w.react("ada", asked.place, "✅")
	n.find(at, "The tool says")
	if ran := n.ran(); len(ran) != 1 {
		n.t.Errorf("ran %q", ran)
	}
	n.stop()
	if now := n.verified(); now != key {
		n.t.Errorf("the audit log has the key %s, and had %s", now, key)
	}
}

// verified checks that the audit log is whole, and gives its key.
func (n *service) verified() string {
	check, out := n.command("audit")
	check.Args = []string{"bot", "audit", "verify", "--config", n.file}
	err := check.Run()
	_, key, _ := strings.Cut(out.String(), ", key ")
	if err != nil || key == "" {
		n.t.Errorf("%v: %s", err, out)
	}
	return key
}

// waits says how many approvals wait, by the metrics.
func (n *service) waits() int {
	_, body := fetchPage(n.t, "http://"+n.http+"/metrics")
	sum := -1
	for line := range strings.Lines(body) {
		name, v, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(name, "nod_approvals_waiting{") {
			c, _ := strconv.Atoi(v) // what it is not, no test waits for
			sum = max(sum, 0) + c
		}
	}
	return sum
}

func redisCLI(t testing.TB, s *redistest.Server, args ...string) {
	t.Helper()
	argv := append([]string{"-p", strconv.Itoa(s.Port)}, args...)
	if out, err := exec.CommandContext(context.Background(), "redis-cli", argv...).CombinedOutput(); err != nil {
		t.Fatalf("redis-cli %v: %v\n%s", args, err, out)
	}
}
