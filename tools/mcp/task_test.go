package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/chat"
	"nod/llm"
	"nod/setting"
)

// longRunning is a server over HTTP that runs its tool as a task, as the extension of
// 2026-07-28 or, where it is older, as 2025-11-25 has it. It asks a question in between.
type longRunning struct {
	*httptest.Server
	older    bool
	mu       sync.Mutex
	saw      []string // the methods that came, with the id of the task
	calls    int
	answered string
	status   string // once the question is answered
	asks     bool
}

func newLong(t *testing.T, older bool) *longRunning {
	l := &longRunning{older: older, status: "working"}
	l.Server = httptest.NewServer(l)
	t.Cleanup(l.Close)
	return l
}

func (l *longRunning) set(status string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status = status
}

func (l *longRunning) did(what string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.saw {
		if one == what {
			n++
		}
	}
	return n
}

// ServeHTTP implements http.Handler.
func (l *longRunning) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Meta           map[string]any `json:"_meta"`
			TaskID         string
			Task           *struct{}
			InputResponses map[string]struct{ Content map[string]string }
		}
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.saw = append(l.saw, strings.TrimSpace(m.Method+" "+m.Params.TaskID))
	if m.Params.TaskID != "" && r.Header.Get("Mcp-Name") != m.Params.TaskID {
		l.saw = append(l.saw, "a task without its header")
	}
	state := fmt.Sprintf(`"taskId":"t1","status":%q,"createdAt":"2026-11-28T10:00:00Z","lastUpdatedAt":"2026-11-28T10:00:00Z","ttl":null,"ttlMs":null,"pollInterval":10,"pollIntervalMs":10`, l.status)
	if l.asks && l.answered == "" {
		state = strings.Replace(state, l.status, "input_required", 1) + `,"inputRequests":{"env":{"method":"elicitation/create","params":{"mode":"form","message":"Where to?","requestedSchema":` + wantsEnv + `}}}`
	} else if l.status == "completed" && !l.older {
		state += `,"result":{"content":[{"type":"text","text":"deployed ` + l.answered + `"}]}`
	} else if l.status == "failed" {
		state += `,"error":{"code":-32603,"message":"no more disk"}`
	}
	result, fault := "", ""
	switch m.Method {
	case "server/discover":
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
		if l.older {
			result, fault = "", `{"code":-32601,"message":"no such method"}`
		}
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"long","version":"1"}}`
	case "tools/list":
		result = `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"deploy","description":"Deploys.","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}`
	case "tools/call":
		l.calls++
		caps, _ := m.Params.Meta["io.modelcontextprotocol/clientCapabilities"].(map[string]any)
		extensions, _ := caps["extensions"].(map[string]any)
		result = `{"resultType":"task",` + state + `}`
		if l.older {
			result = `{"task":{` + state + `}}`
		}
		if _, ok := extensions["io.modelcontextprotocol/tasks"]; !ok && !l.older || l.older && m.Params.Task == nil {
			result, fault = "", `{"code":-32021,"message":"nobody said that it knows tasks"}`
		}
	case "tasks/get":
		result = `{"resultType":"complete",` + state + `}`
		if l.status == "gone" {
			result, fault = "", `{"code":-32602,"message":"Task has expired"}`
		}
	case "tasks/update":
		l.answered = m.Params.InputResponses["env"].Content["env"]
		result = `{"resultType":"complete"}`
	case "tasks/result":
		result = `{"content":[{"type":"text","text":"deployed "}]}`
	case "tasks/cancel":
		l.status = "cancelled"
		result = `{"resultType":"complete"}`
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if fault != "" {
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, fault)
		return
	}
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (l *longRunning) connect(t *testing.T) *bench {
	t.Helper()
	return connect(t, Options{Servers: []Server{{Name: "ops", URL: setting.NewSecret(l.URL)}}})
}

// begin calls the tool, and gives the handle.
func (b *bench) begin() *chat.Handle {
	b.t.Helper()
	var h *chat.Handle
	r, err := b.box.Call(b.t.Context(), chat.Desk{Hold: func(held chat.Handle) { h = &held }}, llm.Call{Name: "ops_deploy", Args: `{}`})
	if h == nil || err != nil || h.Server != "ops" || !h.Repeats {
		b.t.Fatalf("handle %+v, result %+v, %v", h, r, err)
	}
	return h
}

// resume goes on with a handle.
func (b *bench) resume(ctx context.Context, at chat.Resumed) (r llm.Result, next *chat.Handle) {
	b.t.Helper()
	if at.Since.IsZero() {
		at.Since = time.Now()
	}
	r, _ = b.box.Call(ctx, chat.Desk{Resumes: &at, Hold: func(held chat.Handle) { next = &held }}, llm.Call{Name: "ops_deploy", Args: `{}`})
	return r, next
}

// A task is asked for by its handle, by any process. The call is made once.
func TestTask(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		older   bool
		status  string
		at      chat.Resumed
		want    string
		unknown bool
		cancel  int
	}{
		"completed":           {false, "completed", chat.Resumed{}, "deployed", false, 0},
		"completed, older":    {true, "completed", chat.Resumed{}, "deployed", false, 0},
		"failed":              {false, "failed", chat.Resumed{}, "done in part or as a whole; the server ops says:\nno more disk (code -32603)", false, 0},
		"cancelled":           {false, "cancelled", chat.Resumed{}, "was cancelled at its server ops", false, 0},
		"not known":           {false, "gone", chat.Resumed{}, "outcome unknown: ", true, 0},
		"not known, older":    {true, "gone", chat.Resumed{}, "outcome unknown: ", true, 0},
		"too long":            {false, "working", chat.Resumed{Since: time.Now().Add(-25 * time.Hour)}, "took longer than 24h0m0s and was given up", false, 1},
		"stopped":             {false, "working", chat.Resumed{Stop: true}, "was stopped, and its server ops was told to end it", false, 1},
		"stopped, older":      {true, "working", chat.Resumed{Stop: true}, "was stopped, and its server ops was told to end it", false, 1},
		"a handle of nothing": {false, "working", chat.Resumed{Handle: chat.Handle{Key: "[erased]"}}, "outcome unknown: ", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLong(t, tt.older)
			h := l.connect(t).begin()
			l.set(tt.status)
			if tt.at.Key == "" {
				tt.at.Handle = *h
			}
			r, _ := l.connect(t).resume(t.Context(), tt.at) // another process
			if !strings.Contains(r.Text, tt.want) || r.Unknown != tt.unknown || r.Failed == (tt.status == "completed") {
				t.Errorf("%+v, want %q", r, tt.want)
			}
			if l.did("tools/call") != 1 || l.did("tasks/cancel t1") != tt.cancel || l.did("a task without its header") > 0 {
				t.Errorf("the server saw %q", l.saw)
			}
		})
	}
}

// A drain leaves the task alone, and the one who asks in place of it gets the result. A
// question of a task is a handle of its own, and the answer goes to the server.
func TestTaskAsks(t *testing.T) {
	t.Parallel()
	l := newLong(t, false)
	b := l.connect(t)
	h := b.begin()
	ctx, drain := context.WithCancel(t.Context())
	time.AfterFunc(0, drain)
	if r, next := b.resume(ctx, chat.Resumed{Handle: *h}); next != nil || l.did("tasks/cancel t1") > 0 {
		t.Fatalf("%+v, %+v", r, next)
	}
	l.mu.Lock()
	l.asks = true
	l.mu.Unlock()
	_, next := l.connect(t).resume(t.Context(), chat.Resumed{Handle: *h})
	if next == nil || len(next.Asks) != 1 || next.Asks[0].Text != "Where to?" || !next.Repeats {
		t.Fatalf("%+v", next)
	}
	l.set("completed")
	yes := chat.Answer{How: chat.Accepted, By: chat.User{Name: "ada"}, Values: `{"env":"prod"}`}
	r, _ := l.connect(t).resume(t.Context(), chat.Resumed{Handle: *next, Answers: []chat.Answer{yes}})
	if !strings.Contains(r.Text, "deployed prod") || !strings.Contains(r.Text, `[ops asked ada: "Where to?", who answered`) || l.did("tools/call") != 1 || l.did("tasks/update t1") != 1 {
		t.Errorf("%+v; the server saw %q", r, l.saw)
	}
}
