package main

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"nod/internal/fakeslack"
	"nod/internal/redistest"
)

// A copy that was made while the service ran, as docs/operate.md says, and brought
// back after the store was lost: the approval that waited goes on, and the call that
// it was for runs once.
func TestBackupSQLite(t *testing.T) {
	t.Parallel()
	n := newService(t, newSlackWorld(t, fakeslack.Options{NoLimits: true}), obedient, setup{})
	n.goesOn(n.copySQLite())
}

func TestBackupRedis(t *testing.T) {
	t.Parallel()
	server := startCopied(t)
	n := newService(t, newSlackWorld(t, fakeslack.Options{NoLimits: true}), obedient, setup{store: server.URL()})
	n.goesOn(n.copyRedis(server))
}

// copySQLite makes a copy of the store, and brings it back.
func (n *service) copySQLite() (save, restore func()) {
	t := n.t
	store := filepath.Join(filepath.Dir(n.file), "nod.db")
	saved := filepath.Join(t.TempDir(), "saved.db")
	return func() {
			db, err := sql.Open("sqlite", "file:"+store+"?mode=ro")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if _, err := db.ExecContext(t.Context(), "VACUUM INTO ?", saved); err != nil {
				t.Fatal(err)
			}
		}, func() {
			for _, suffix := range []string{"", "-wal", "-shm"} {
				_ = os.Remove(store + suffix) // some are not there
			}
			data, err := os.ReadFile(saved)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(store, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
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
	dir := n.t.TempDir()
	return func() {
			redisCLI(n.t, server, "--rdb", filepath.Join(dir, "dump.rdb"))
		}, func() {
			server.Kill(n.t)
			restored := redistest.Start(n.t, "--dir", dir, "--appendonly", "no")
			redisCLI(n.t, restored, "CONFIG", "SET", "appendonly", "yes")
			n.file = n.rewrite("restored.yaml", server.URL(), restored.URL())
		}
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
	n.w.mention("ben", "hello after the copy") // is lost with the store, and found again where it was written
	n.stop()
	restore()
	n.start()
	n.w.react("ada", asked.place, "✅")
	n.find(at, "The tool says")
	if ran := n.ran(); len(ran) != 1 {
		n.t.Errorf("ran %q", ran)
	}
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
