package main

import (
	"strings"
	"testing"

	"nod/internal/fakellm"
	"nod/internal/fakeslack"
)

// A tool that is for a user group is offered to those who are in it, and a call that
// somebody else's turn makes of it does not run.
func TestToolForGroup(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	rule := func(req fakellm.Request) fakellm.Reply {
		if req.Last().Role == "tool" {
			return fakellm.Reply{Text: "The tool says: " + req.Last().Text()}
		}
		offered := ""
		for _, tool := range req.Tools {
			if strings.Contains(string(tool), `"pay"`) {
				offered = "offered"
			}
		}
		if strings.Contains(req.Last().Text(), "what is there") {
			return fakellm.Reply{Text: "There is: " + offered + "."}
		}
		return fakellm.Reply{Calls: []fakellm.Call{{Name: "pay", Args: `{}`}}}
	}
	n := newService(t, w, rule, setup{tools: `
    - name: pay
      description: Pay the bill.
      argv: [sh, -c, "echo paid | tee -a ran.txt"]
      risk: auto
      for: ["group:S012"]
    - name: look
      description: Look.
      argv: [echo, hello]
      risk: auto
`})
	n.start()
	n.find(w.dm("bob", "what is there?"), "There is: offered.")
	n.find(w.dm("eve", "what is there?"), "There is: .")
	n.find(w.dm("eve", "pay it"), "only some people may ask for this tool")
	if ran := n.ran(); len(ran) != 0 {
		t.Errorf("ran %q", ran)
	}
	n.find(w.dm("bob", "pay it"), "The tool says: paid")
}
