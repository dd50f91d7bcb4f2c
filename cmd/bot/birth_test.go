package main

import (
	"testing"

	"nod/internal/fakediscord"
	"nod/internal/fakeslack"
	"nod/internal/redistest"
)

// deployAlone runs without an approval, so that a question which is put twice runs twice.
const deployAlone = `
    - name: deploy
      description: Deploy a service.
      parameters: {type: object, properties: {env: {type: string}}, required: [env], additionalProperties: false}
      argv: [sh, -c, "echo deployed \"$1\" | tee -a ran.txt", --, "{env}"]
      risk: auto
`

// A service that goes on with an empty store answers nothing that the earlier store
// answered, neither after a restart nor after a cut connection.
func TestANewStoreRepeatsNothing(t *testing.T) {
	t.Parallel()
	worlds := map[string]func(*testing.T) world{
		"slack":   func(t *testing.T) world { return newSlackWorld(t, fakeslack.Options{NoLimits: true}) },
		"discord": func(t *testing.T) world { return newDiscordWorld(t, fakediscord.Options{NoLimits: true}) },
	}
	for name, open := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newService(t, open(t), obedient, setup{tools: deployAlone})
			n.start()
			direct, channel := n.w.dm("ada", "deploy red"), n.w.mention("ada", "deploy green")
			n.find(direct, "The tool says")
			n.find(channel, "The tool says")
			n.stop()
			n.file = n.rewrite("redis.yaml", "sqlite:nod.db", redistest.Start(t).URL())
			n.start()
			n.find(n.w.mention("ada", "hello"), "You said: hello")
			n.find(n.w.dm("ada", "hi"), "You said: hi")
			n.w.cut()
			n.find(n.w.mention("ada", "again"), "You said: again")
			n.stop()
			n.start()
			n.find(n.w.mention("ada", "done?"), "You said: done?")
			n.find(n.w.dm("ada", "and here?"), "You said: and here?")
			if ran := n.ran(); len(ran) != 2 {
				t.Errorf("ran %q", ran)
			}
		})
	}
}
