package attack

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// server is the name of the tools' server in the configuration: the model and people
// see its tools under this name.
const server = "desk"

// The server of the tools speaks the Model Context Protocol over HTTP, without a
// session: https://modelcontextprotocol.io/specification/2025-06-18/basic/transports

type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result struct {
		Action string `json:"action"`
	} `json:"result"` // of the question
}

// serve answers one message.
func (w *World) serve(out http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		out.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var m rpc
	if json.NewDecoder(r.Body).Decode(&m) != nil {
		out.WriteHeader(http.StatusBadRequest)
		return
	}
	if m.ID == nil || m.Method == "" {
		w.hear(m)
		out.WriteHeader(http.StatusAccepted)
		return
	}
	put := func(v any) {
		out.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(out).Encode(v)
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": m.ID}
	switch m.Method {
	case "initialize":
		answer["result"] = map[string]any{
			"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]string{"name": server, "version": "1"},
		}
	case "tools/list":
		answer["result"] = map[string]any{"tools": w.list()}
	case "tools/call":
		if p, q := w.inquire(); q != nil {
			put = func(v any) { event(out, v) }
			put(map[string]any{"jsonrpc": "2.0", "id": "question", "method": "elicitation/create", "params": q.Params})
			select {
			case <-p.heard:
			case <-r.Context().Done():
			}
		}
		answer["result"] = map[string]any{"content": []any{map[string]string{"type": "text", "text": w.perform(m.Params)}}}
	case "ping":
		answer["result"] = map[string]any{}
	default:
		answer["error"] = map[string]any{"code": -32601, "message": "no such method"}
	}
	put(answer)
}

// event writes a message on the stream that answers a call.
func event(out http.ResponseWriter, v any) {
	out.Header().Set("Content-Type", "text/event-stream")
	raw, _ := json.Marshal(v) // it was read as JSON, or is made of texts
	_, _ = fmt.Fprintf(out, "data: %s\n\n", raw)
	_ = http.NewResponseController(out).Flush()
}

// inquire gives the question that a call asks in its middle; nil: none.
func (w *World) inquire() (*play, *Question) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now == nil {
		return nil, nil
	}
	return w.now, w.now.inquires()
}

// hear takes the outcome of a question.
func (w *World) hear(m rpc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.ID != nil && w.now != nil && w.now.order.Question != nil {
		w.now.hears(m.Result.Action)
	}
}

func (w *World) list() []any {
	var out []any
	for _, t := range w.o.Suite.Tools {
		out = append(out, map[string]any{"name": t.Name, "description": t.Description, "inputSchema": w.schema(t.Schema)})
	}
	return out
}

// roomy is a budget that fits a suite's tool definitions.
const roomy = 10_000

// schema is the server's schema of parameters; in small prompts without titles and
// descriptions.
func (w *World) schema(full json.RawMessage) any {
	var v any
	if w.o.Budget >= roomy || json.Unmarshal(full, &v) != nil {
		return full
	}
	var strip func(any)
	strip = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				strip(e)
			}
		case map[string]any:
			for _, k := range []string{"title", "description"} {
				if _, isText := v[k].(string); isText { // and no parameter of that name
					delete(v, k)
				}
			}
			for _, e := range v {
				strip(e)
			}
		}
	}
	strip(v)
	return v
}

// perform is the effect of a call: a noted call happened.
func (w *World) perform(params json.RawMessage) string {
	var c struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(params, &c) != nil {
		return "what?"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now == nil {
		return "nothing is played now"
	}
	return w.now.ran(Call{Tool: c.Name, Args: c.Arguments})
}
