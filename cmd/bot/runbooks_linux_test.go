package main

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"nod/internal/fakeslack"
)

// An upgrade that is taken back, and a move to another store, by the commands of
// docs/operate.md: the approval that waited goes on, the call runs once, and the audit log
// is whole.
func TestRunbookOfAnUpgrade(t *testing.T) {
	t.Parallel()
	n := newService(t, newSlackWorld(t, fakeslack.Options{NoLimits: true}), obedient, setup{})
	c := copied{n, t.TempDir(), ""}
	n.goesOn(func() { c.save("VACUUM INTO") }, func() {
		c.follow("bot version")
		db, err := sql.Open("sqlite", filepath.Join(filepath.Dir(n.file), "nod.db"))
		if err == nil {
			_, err = db.ExecContext(context.Background(), "PRAGMA user_version = 99") // as a later version has it
		}
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		if out, err := c.run("bot version"); err == nil || !strings.Contains(out, "store: format 99") {
			t.Errorf("a store of a later version: %v\n%s", err, out)
		}
		c.follow("rm -f")
		c.follow("bot version")
	})
}

func TestRunbookOfAMove(t *testing.T) {
	t.Parallel()
	for _, back := range []bool{false, true} {
		t.Run(map[bool]string{false: "to Redis", true: "to SQLite"}[back], func(t *testing.T) {
			t.Parallel()
			url := startCopied(t).URL()
			from, to, words := "sqlite:nod.db", url, "copy sqlite:"
			if back {
				from, to, words = url, "sqlite:nod.db", "copy redis:"
			}
			n := newService(t, newSlackWorld(t, fakeslack.Options{NoLimits: true}), obedient, setup{store: from})
			n.goesOn(func() {}, func() {
				copied{n, t.TempDir(), url}.follow(words)
				n.file = n.rewrite("moved.yaml", "store: "+from, "store: "+to)
			})
		})
	}
}

// A deaf bot, a slow answer and a full disk: the commands show all that the page has the
// operator look at, and a store with room again takes what was written meanwhile.
func TestRunbooksOfARunningBot(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "redis"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			url, fill := "", func() {}
			if kind == "redis" {
				server := startCopied(t)
				url = server.URL()
				fill = func() { redisCLI(t, server, "CONFIG", "SET", "maxmemory", "1") }
			}
			n := newService(t, newSlackWorld(t, fakeslack.Options{NoLimits: true}), obedient, setup{store: url, llm: "parallel: 2"})
			c := copied{n, t.TempDir(), url}
			room := func() { c.follow("maxmemory") }
			if kind == "sqlite" {
				fill, room = n.smallDisk()
			}
			n.start()
			n.deaf(c)
			n.slow(c)
			n.full(c, fill, room)
			if kind == "sqlite" {
				n.stop()
				c.follow("; VACUUM\"")
				n.start()
			}
			n.find(n.w.mention("ada", "still there"), "You said", "still there")
		})
	}
}

// deaf looks whether events come.
func (n *service) deaf(c copied) {
	const words = "nod_(events_total"
	events := regexp.MustCompile(`nod_events_total\{platform="slack"\} (\d+)`)
	before := events.FindString(c.follow(words))
	n.find(n.w.dm("ada", "hi"), "You said")
	after := c.follow(words)
	for _, metric := range []string{"nod_last_event_timestamp_seconds{", "nod_sockets{", "nod_app_sockets{", "ok    slack", "socket_mode_enabled"} {
		if !strings.Contains(after, metric) {
			n.t.Errorf("the commands do not show %s:\n%s", metric, after)
		}
	}
	if now := events.FindString(after); now == "" || now == before {
		n.t.Errorf("after a message there are %q events, before it %q", now, before)
	}
}

// slow looks where the time goes, while an approval waits.
func (n *service) slow(c copied) {
	n.find(n.w.mention("ada", "look it up"), "The tool says")
	n.ask(n.w.mention("ada", "deploy prod now"), `{"env":"prod"}`)
	_, section, _ := strings.Cut(operatePage(n.t), "## An answer is slow")
	section, _, _ = strings.Cut(section, "\n## ")
	names := regexp.MustCompile("`(nod_[a-z_]+)`").FindAllStringSubmatch(section, -1)
	var out, lacks string
	for _, m := range names {
		eventually(n.t, "the commands show "+m[1]+lacks, func() bool { // a number may be some seconds old
			out = c.follow("_oldest_seconds)")
			return strings.Contains(out, m[1])
		})
	}
	if len(names) < 6 || !strings.Contains(out, "execute_tool look") {
		n.t.Errorf("the commands show %s", out)
	}
}

// full fills the store, and makes room again.
func (n *service) full(c copied, fill, room func()) {
	fill()
	eventually(n.t, "the store takes no writes", func() bool {
		out := c.follow("/readyz")
		return strings.Contains(out, `"ready":false`) && !strings.Contains(out, `"store":"ok"`)
	})
	at := n.w.mention("ada", "written meanwhile")
	room()
	eventually(n.t, "it takes writes again", func() bool { return strings.Contains(c.follow("/readyz"), `"ready":true`) })
	n.find(at, "You said", "written meanwhile")
}

// smallDisk puts the service's folder on a small disk, and says how to fill it and how to
// make room.
func (n *service) smallDisk() (fill, room func()) {
	dir := filepath.Dir(n.file)
	text, err := os.ReadFile(n.file)
	if err != nil {
		n.t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		n.t.Skip("a small disk can't be mounted here:", err)
	}
	n.t.Cleanup(func() {
		n.stop()
		_ = syscall.Unmount(dir, syscall.MNT_DETACH)
	})
	if err := os.WriteFile(n.file, text, 0o600); err != nil {
		n.t.Fatal(err)
	}
	filler := filepath.Join(dir, "filler")
	fill = func() {
		f, err := os.Create(filler) //nolint:gosec // in the test's folder
		for err == nil {
			_, err = f.Write(make([]byte, 512))
		}
		_ = f.Close()
	}
	return fill, func() { _ = os.Remove(filler) }
}
