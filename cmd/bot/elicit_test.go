package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/internal/fakediscord"
	"nod/internal/fakellm"
	"nod/internal/fakeslack"
)

// asking is a server that asks in the middle of its call where to deploy.
func asking(t *testing.T) string {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "ops", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "deploy", Description: "Deploy.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if r, ok := req.Params.InputResponses["env"].(*mcp.ElicitResult); ok {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("%s to %v", r.Action, r.Content["env"])}}}, nil
			}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"env": &mcp.ElicitParams{
				Mode: "form", Message: "Where to? <!channel> @everyone `x`",
				RequestedSchema: json.RawMessage(`{"type":"object","properties":{"env":{"type":"string","enum":["prod","test"]}},"required":["env"]}`),
			}}}, nil
		})
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}

// A server asks in the thread; whoever opened the turn answers it there, and the
// answer goes to the server and to nobody else.
func TestServerAsks(t *testing.T) {
	t.Parallel()
	worlds := map[string]func(t *testing.T) world{
		"slack": func(t *testing.T) world { return newSlackWorld(t, fakeslack.Options{}) },
		"discord": func(t *testing.T) world {
			return newDiscordWorld(t, fakediscord.Options{Privileged: fakediscord.IntentMessageContent})
		},
		"web": func(t *testing.T) world { return newWebWorld(t) },
	}
	for name, newWorld := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			rule := func(req fakellm.Request) fakellm.Reply {
				for _, m := range req.Messages { // what bob says meanwhile may stand behind it
					if m.Role == "tool" {
						return fakellm.Reply{Text: "The tool says: " + m.Text()}
					}
				}
				if strings.Contains(req.Last().Text(), "deploy") {
					return fakellm.Reply{Calls: []fakellm.Call{{Name: "ops_deploy", Args: `{}`}}}
				}
				return fakellm.Reply{Text: "You said: " + req.Last().Text()}
			}
			n := newService(t, w, rule, setup{tools: deployTool + fmt.Sprintf("\n  mcp: [{name: ops, url: %q}]\n", asking(t))})
			n.start()
			at := w.mention("ada", "deploy it")
			w.react("ada", n.ask(at, "ops_deploy").place, "✅")
			if asked := n.find(at, "ops asks", "Where to?", "env: one of prod, test", "ada").text; name == "slack" && strings.Contains(asked, "<!channel>") { // elsewhere these are plain characters
				t.Errorf("what the server wrote mentions people: %s", asked)
			}
			// The question is taken down: from here on the next words are the answer, but
			// for those of somebody else.
			n.find(at, "'s answer to ops")
			w.mentionIn("bob", at, "test")
			w.reply("ada", at, "staging")
			n.find(at, "That is no answer to what ops asks")
			w.reply("ada", at, "Prod")
			n.find(at, "The tool says", "accept to prod")
			n.find(at, "ops asked", "Answered by ada")
			if c := n.count(at, "You said"); c > 0 {
				t.Errorf("%d answers to what was meant for the server", c)
			}
		})
	}
}
