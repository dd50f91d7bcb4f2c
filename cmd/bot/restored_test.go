package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nod/internal/fakediscord"
	"nod/internal/fakeslack"
	"nod/memory"
)

// eachRestored plays on Slack and Discord, with both stores, on the machine of before and on
// a new one: there only the platform can tell that the store is older.
func eachRestored(t *testing.T, extra string, play func(n *service, save, restore func())) {
	worlds := map[string]func(*testing.T) world{
		"slack":   func(t *testing.T) world { return newSlackWorld(t, fakeslack.Options{NoLimits: true}) },
		"discord": func(t *testing.T) world { return newDiscordWorld(t, fakediscord.Options{NoLimits: true}) },
	}
	for name, open := range worlds {
		for _, store := range []string{"sqlite", "redis"} {
			for _, machine := range []string{"same", "new"} {
				t.Run(name+"/"+store+"/"+machine, func(t *testing.T) {
					t.Parallel()
					var n *service
					var save, restore func()
					if store == "redis" {
						server := startCopied(t)
						n = newService(t, open(t), obedient, setup{store: server.URL(), extra: extra})
						save, restore = n.copyRedis(server)
					} else {
						n = newService(t, open(t), obedient, setup{extra: extra})
						save, restore = n.copySQLite()
					}
					play(n, save, func() {
						restore()
						if machine == "new" {
							if err := os.Remove(filepath.Join(filepath.Dir(n.file), "nod.key.checkpoint")); err != nil {
								t.Fatal(err)
							}
						}
					})
				})
			}
		}
	}
}

// A call that was approved and ran after the copy was made does not run by the vote that
// still stands on its card. The model is told, and the card stays as it is.
func TestOpsRestoredStoreRunsNothingByOldVotes(t *testing.T) {
	t.Parallel()
	eachRestored(t, "", func(n *service, save, restore func()) {
		n.start()
		at := n.w.mention("ada", "deploy prod now")
		asked := n.ask(at, `{"env":"prod"}`)
		eventually(n.t, "the approval is noted", func() bool { return n.waits() == 1 })
		save()
		n.w.react("ada", asked.place, "✅")
		n.find(at, "The tool says")
		n.stop()
		restore()
		n.start()
		eventually(n.t, "the turn ends again", func() bool { return n.count(at, "The tool says") == 2 })
		n.undrawn(at, "Approved by", "done")
		n.find(at, "I was restored from a copy of 2", "; ask again what still matters.")
		if ran := n.ran(); len(ran) != 1 {
			n.t.Errorf("ran %q", ran)
		}
	})
}

// undrawn checks that the one card of a conversation still shows what was decided.
func (n *service) undrawn(at place, words ...string) {
	n.t.Helper()
	for _, p := range n.w.posts(at) {
		if strings.Contains(p.text, "digest") && !holds(p.text, words) {
			n.t.Errorf("the card shows %q, want %q", p.text, words)
		}
	}
}

// On a new machine no file tells that the store is older. The bot's own posts do: nothing that
// was answered after the copy was made is answered again, and each channel is told once.
func TestOpsRestoredOnANewMachineAnswersNothingAgain(t *testing.T) {
	t.Parallel()
	n := newService(t, newSlackWorld(t, fakeslack.Options{NoLimits: true}), obedient, setup{tools: deployAlone})
	save, restore := n.copySQLite()
	n.start()
	known := n.w.mention("ada", "hello")
	n.find(known, "You said: hello")
	save()
	unknown, direct := n.w.mention("ada", "deploy red"), n.w.dm("ada", "deploy green")
	for _, at := range []place{unknown, direct} {
		n.find(at, "The tool says")
	}
	n.stop()
	restore()
	if err := os.Remove(filepath.Join(filepath.Dir(n.file), "nod.key.checkpoint")); err != nil {
		t.Fatal(err)
	}
	n.start()
	n.find(direct, "I was restored from a copy of 2")
	n.find(unknown, "I was restored from a copy of 2")
	n.find(n.w.mention("ada", "done?"), "You said: done?")
	n.find(n.w.dm("ada", "and here?"), "You said: and here?")
	if ran := n.ran(); len(ran) != 2 {
		t.Errorf("ran %q", ran)
	}
}

// A grant of before the copy holds no more: it was taken back since. A 🔄 that was heard
// since is not heard again.
func TestOpsRestoredHoldsNoGrant(t *testing.T) {
	t.Parallel()
	n := newService(t, newSlackWorld(t, fakeslack.Options{NoLimits: true}), obedient, setup{extra: "approvals: {grants: {most: 1h, uses: 20}}"})
	save, restore := n.copySQLite()
	n.start()
	at := n.w.mention("ada", "deploy web")
	n.ask(at, "web")
	eventually(t, "the approval is noted", func() bool { return n.waits() == 1 })
	n.w.reply("ada", at, "allow 1 1h")
	answer := n.find(at, "The tool says: deployed web")
	n.recorded(1)
	save()
	n.w.reply("ada", at, "revoke 1")
	n.w.react("ada", answer.place, "🔄")
	n.find(at, "Try 2")
	proof := n.w.mention("ada", "hello")
	n.find(proof, "You said: hello")
	n.stop()
	restore()
	if err := os.Remove(filepath.Join(filepath.Dir(n.file), "nod.key.checkpoint")); err != nil {
		t.Fatal(err)
	}
	n.start()
	n.find(proof, "I was restored from a copy of 2")
	n.w.reply("ada", at, "deploy web")
	n.find(at, "Approval 101: deploy")
	if ran, tries := n.ran(), n.count(at, "Try 2"); len(ran) != 1 || tries != 1 {
		t.Errorf("ran %q, and tried %d times", ran, tries)
	}
}

// A card that was edited after the copy was made shows other arguments than the store knows,
// on a new machine too. So a vote on it counts for neither, and the call is asked anew.
func TestOpsRestoredBeforeAnEdit(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) world{
		"slack":   func(t *testing.T) world { return newSlackWorld(t, fakeslack.Options{NoLimits: true}) },
		"discord": func(t *testing.T) world { return newDiscordWorld(t, fakediscord.Options{NoLimits: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newService(t, open(t), obedient, setup{})
			save, restore := n.copySQLite()
			n.start()
			at := n.w.mention("ada", "deploy prod")
			asked := n.ask(at, `{"env":"prod"}`)
			eventually(t, "the approval is noted", func() bool { return n.waits() == 1 })
			save()
			n.w.mentionIn("ada", at, `edit 1 {"env":"test"}`)
			n.ask(at, `{"env":"test"}`)
			n.stop()
			n.w.react("ada", asked.place, "✅")
			restore()
			if err := os.Remove(filepath.Join(filepath.Dir(n.file), "nod.key.checkpoint")); err != nil {
				t.Fatal(err)
			}
			n.start()
			n.find(at, "Approval 101: deploy")
			if ran := n.ran(); len(ran) != 0 {
				t.Errorf("ran %q", ran)
			}
		})
	}
}

// A letter that no turn has taken in stands last, and has no number: it proves nothing.
func TestReaches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		log  []memory.Entry
		want bool
	}{
		{nil, false},
		{[]memory.Entry{{Seq: 6}}, false},
		{[]memory.Entry{{Seq: 6}, {Seq: 7}, {}}, true},
		{[]memory.Entry{{Seq: 9}, {}, {}}, true},
		{[]memory.Entry{{}}, false},
	} {
		if got := reaches(c.log, 7); got != c.want {
			t.Errorf("%v: %v", c.log, got)
		}
	}
}
