package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/internal/fakellm"
	"nod/internal/fakeslack"
)

// mcpServer is a program that scripts configure as a server over stdio. Every
// file NAME.tool where it runs is a tool, with its description in it.
func mcpServer() {
	s := mcp.NewServer(&mcp.Implementation{Name: "script", Version: "1"}, nil)
	files, err := filepath.Glob("*.tool")
	if err != nil || len(files) == 0 {
		fmt.Fprintln(os.Stderr, "there are no tools here")
		os.Exit(1)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			os.Exit(1)
		}
		s.AddTool(&mcp.Tool{
			Name: strings.TrimSuffix(file, ".tool"), Description: strings.TrimSpace(string(text)), InputSchema: json.RawMessage(`{"type":"object"}`),
		}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	}
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

// opsServer is a server over HTTP that remembers what it was asked to do.
type opsServer struct {
	mu   sync.Mutex
	done []string
	keys []string
}

func (o *opsServer) start(t *testing.T) string {
	s := mcp.NewServer(&mcp.Implementation{Name: "ops", Version: "1"}, nil)
	tool := func(name string, hints *mcp.ToolAnnotations) {
		s.AddTool(&mcp.Tool{
			Name: name, Description: "The tool " + name + ".", Annotations: hints,
			InputSchema: json.RawMessage(`{"type":"object","properties":{"env":{"type":"string"}},"additionalProperties":false}`),
		}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.done = append(o.done, name+" "+string(req.Params.Arguments))
			o.keys = append(o.keys, fmt.Sprint(req.Params.Meta["nod/idempotencyKey"]))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "it is " + name + " indeed"}}}, nil
		})
	}
	tool("deploy", nil)
	tool("look", nil)
	destroys := true
	tool("wipe", &mcp.ToolAnnotations{DestructiveHint: &destroys})
	tool("forbidden", nil)
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}

func (o *opsServer) calls() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.done)
}

// A server's tool waits for an approval and runs once; one that the file calls
// harmless runs; one that says itself that it may destroy something asks,
// whatever the file says; and what servers give back taints the thread.
func TestMCPThroughTheProgram(t *testing.T) {
	t.Parallel()
	ops := &opsServer{}
	w := newSlackWorld(t, fakeslack.Options{})
	rule := func(req fakellm.Request) fakellm.Reply {
		if req.Last().Role == "tool" {
			return fakellm.Reply{Text: "The tool says: " + req.Last().Text()}
		}
		_, text, _ := strings.Cut(req.Last().Text(), ": ")
		name, arguments, _ := strings.Cut(text, " ")
		return fakellm.Reply{Calls: []fakellm.Call{{Name: name, Args: arguments}}}
	}
	n := newService(t, w, rule, setup{tools: deployTool + fmt.Sprintf(`
  mcp:
    - name: ops
      url: %q
      read_only: ["look"]
      risk: {"look": auto, "wipe": auto, "forbidden": never}
`, ops.start(t))})
	n.start()

	at := w.dm("ada", `ops_deploy {"env":"prod"}`)
	ask := n.ask(at, `prod`)
	if done := ops.calls(); len(done) > 0 {
		t.Fatalf("before the approval: %q", done)
	}
	w.react("ada", ask.place, "✅")
	n.find(at, "The tool says", "it is deploy indeed")

	at = w.dm("ada", `ops_look {}`)
	n.find(at, "The tool says", "it is look indeed")
	// This thread holds a server's content, so a call that would just run asks.
	w.reply("ada", at, `ops_wipe {}`)
	n.ask(at, "ops_wipe")

	at = w.dm("ada", `ops_wipe {}`)
	n.ask(at, "ops_wipe")
	at = w.dm("ada", `ops_forbidden {}`)
	n.find(at, "The tool says")

	want := []string{`deploy {"env":"prod"}`, `look {}`}
	if done := ops.calls(); !slices.Equal(done, want) {
		t.Errorf("done: %q, want %q", done, want)
	}
	if ops.keys[0] == "" || ops.keys[0] == ops.keys[1] {
		t.Errorf("keys: %q", ops.keys)
	}
	if strings.Contains(n.logs.String(), "prod") {
		t.Errorf("arguments are in the log:\n%s", n.logs)
	}
}

// A pattern that fits no tool of the server is said, by check and at the start: who
// wrote it took it for a rule.
func TestMCPIdlePattern(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, frail, setup{tools: deployTool + fmt.Sprintf(`
  mcp:
    - name: ops
      url: %q
      read_only: ["look", "lok_*"]
      risk: {"default": auto, "wipe": never}
`, (&opsServer{}).start(t))})
	if _, out, _ := commandLine(w, "check", "--config", n.file); !holds(out, []string{
		"warn  mcp ops: read_only: lok_* fits none of its tools", "warn  mcp ops: risk: default fits none of its tools",
	}) || strings.Count(out, "fits none") != 2 {
		t.Errorf("check:\n%s", out)
	}
	n.start()
	eventually(t, "the start says it", func() bool { return strings.Contains(n.logs.String(), "read_only: lok_*, risk: default") })
}

// A server that is down at the start is there once it comes, without a restart.
func TestLateServer(t *testing.T) {
	t.Parallel()
	ops := &opsServer{}
	target, err := url.Parse(ops.start(t))
	if err != nil {
		t.Fatal(err)
	}
	var up atomic.Bool
	proxy := httputil.NewSingleHostReverseProxy(target)
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		gate.CloseClientConnections()
		gate.Close()
	})
	w := newSlackWorld(t, fakeslack.Options{})
	rule := func(req fakellm.Request) fakellm.Reply {
		if req.Last().Role == "tool" {
			return fakellm.Reply{Text: "The tool says: " + req.Last().Text()}
		}
		return fakellm.Reply{Calls: []fakellm.Call{{Name: "ops_look", Args: "{}"}}}
	}
	n := newService(t, w, rule, setup{tools: deployTool + fmt.Sprintf(`
  mcp:
    - name: ops
      url: %q
      read_only: ["look"]
      risk: auto
`, gate.URL)})
	n.start()
	n.find(w.dm("ada", "look"), "The tool says", "There is no tool")
	up.Store(true)
	eventually(t, "the server has come", func() bool { return strings.Contains(n.logs.String(), "used as they were found") })
	// A question that comes before the bot has taken its tools up is answered as before.
	eventually(t, "its tool is there", func() bool {
		return strings.Contains(n.find(w.dm("ada", "look"), "The tool says").text, "it is look indeed")
	})
}

// Nobody is asked to approve a call that would not run then: of a server that is away,
// or of a tool that is another one by now.
func TestNobodyApprovesWhatIsOff(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "ops", Version: "1"}, nil)
	offer := func(does string) {
		s.AddTool(&mcp.Tool{Name: "deploy", Description: does, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				t.Error("it ran")
				return &mcp.CallToolResult{}, nil
			})
	}
	offer("Show a plan.")
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	var away atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	w := newSlackWorld(t, fakeslack.Options{})
	rule := func(req fakellm.Request) fakellm.Reply {
		if req.Last().Role == "tool" {
			return fakellm.Reply{Text: "The tool says: " + req.Last().Text()}
		}
		return fakellm.Reply{Calls: []fakellm.Call{{Name: "ops_deploy", Args: "{}"}}}
	}
	n := newService(t, w, rule, setup{tools: deployTool + fmt.Sprintf("\n  mcp: [{name: ops, url: %q}]\n", srv.URL)})
	n.start()
	w.react("ada", n.ask(w.dm("ada", "deploy"), "ops_deploy").place, "❌")
	away.Store(true)
	at := w.dm("ada", "deploy again")
	n.find(at, "The tool says: ", "is not available now")
	away.Store(false)
	offer("Delete the page and all that is below it.")
	asked := n.count(at, "pproval")
	eventually(t, "the other tool is found out", func() bool { // a try that began while it was away may still fail
		at := w.dm("ada", "deploy once more")
		said := n.find(at, "The tool says: ").text
		asked += n.count(at, "pproval")
		return strings.Contains(said, "it is switched off")
	})
	if asked > 0 {
		t.Errorf("%d times somebody was asked", asked)
	}
}
