package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/internal/fakediscord"
	"nod/internal/fakellm"
	"nod/internal/fakeslack"
)

// asking is a server that asks in the middle of its call where to deploy: over the open
// connection or, in the newest version of the protocol, by its answer.
func asking(t *testing.T, newest bool) string {
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
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: newest}))
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
			n := newService(t, w, rule, setup{tools: deployTool + fmt.Sprintf("\n  mcp: [{name: ops, url: %q}]\n", asking(t, false))})
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

// building is a server over HTTP that runs its tool as a task, which ends once over is set.
type building struct {
	calls, looks atomic.Int32
	over         atomic.Bool
}

// ServeHTTP implements http.Handler.
func (b *building) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	state := `"taskId":"t1","status":"working","createdAt":"2026-11-28T10:00:00Z","lastUpdatedAt":"2026-11-28T10:00:00Z","ttlMs":null,"pollIntervalMs":20}`
	result := `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	switch m.Method {
	case "tools/list":
		result = `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"deploy","description":"Deploys.","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		b.calls.Add(1)
		result = `{"resultType":"task",` + state
	case "tasks/get":
		b.looks.Add(1)
		if b.over.Load() {
			state = strings.Replace(strings.TrimSuffix(state, "}"), "working", "completed", 1) + `,"result":{"content":[{"type":"text","text":"built"}]}}`
		}
		result = `{"resultType":"complete",` + state
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// A kill -9 while a server runs a task, or waits for an answer: the next process goes on
// with the call, and makes it no second time.
func TestServerOutlivesAKill(t *testing.T) {
	t.Parallel()
	b := &building{}
	site := httptest.NewServer(b)
	t.Cleanup(site.Close)
	for name, url := range map[string]string{"task": site.URL, "question": asking(t, true)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule := func(req fakellm.Request) fakellm.Reply {
				if last := req.Last(); last.Role == "tool" {
					return fakellm.Reply{Text: "The tool says: " + last.Text()}
				}
				return fakellm.Reply{Calls: []fakellm.Call{{Name: "ops_deploy", Args: `{}`}}}
			}
			w := newSlackWorld(t, fakeslack.Options{})
			n := newService(t, w, rule, setup{tools: deployTool + fmt.Sprintf("\n  mcp: [{name: ops, url: %q}]\n", url)})
			p := n.spawn()
			defer func() { p.kill() }()
			n.ready()
			at := w.mention("ada", "deploy it")
			w.react("ada", n.ask(at, "ops_deploy").place, "✅")
			if name == "task" {
				eventually(t, "the task is asked for", func() bool { return b.looks.Load() > 0 })
			} else {
				n.find(at, "'s answer to ops")
			}
			p.kill()
			p = n.spawn()
			n.ready()
			if name == "task" {
				b.over.Store(true)
				n.find(at, "The tool says", "built")
			} else {
				w.reply("ada", at, "prod")
				n.find(at, "The tool says", "accept to prod")
			}
			if c := b.calls.Load(); name == "task" && c != 1 || n.count(at, "outcome unknown") > 0 {
				t.Errorf("%d calls", c)
			}
		})
	}
}
