package openai

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"nod/llm"
)

// recording is one exchange with a real provider.
type recording struct {
	Src    string          `json:"src"`
	URL    string          `json:"url"`
	Status int             `json:"status"`
	SSE    bool            `json:"sse"`
	Req    json.RawMessage `json:"req"`
	Body   string          `json:"body"`
}

// recordings reads the recorded exchanges, which lie beside the checkout.
func recordings(t *testing.T) []recording {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "data", "chat-completions.jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("no recordings beside this checkout")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out []recording
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if low := strings.ToLower(lines.Text()); strings.Contains(low, "authorization") || strings.Contains(low, "api-key") || strings.Contains(low, "bearer ") {
			t.Fatalf("recording %d holds a key", len(out))
		}
		var r recording
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestReplay serves every recorded body and compares the result with the reading of a
// second, simpler decoder.
func TestReplay(t *testing.T) {
	count := map[string]int{}
	for i, rec := range recordings(t) {
		t.Run(fmt.Sprintf("%d %s", i, filepath.Base(rec.Src)), func(t *testing.T) {
			s := &script{serve: []served{{status: rec.Status, body: rec.Body}}}
			m, _ := s.model(func(o *Options) { o.Stream = rec.SSE })
			var watched llm.Response
			got, err := m.Complete(t.Context(), hi, func(d llm.Delta) {
				if d.Reset {
					watched = llm.Response{}
				}
				watched.Text += d.Text
				watched.Reasoning += d.Reasoning
			})
			want, wantErr := decode(rec)
			if wantErr != nil {
				count["error "+string(wantErr.Fault)]++
				if diff := cmp.Diff(wantErr, fault(t, err), cmpopts.IgnoreFields(llm.Error{}, "Message", "Where")); diff != "" {
					t.Errorf("error (-want +got):\n%s", diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			count[fmt.Sprintf("answer, stream %v, %s", rec.SSE, want.Finish)]++
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(llm.Response{}, "Echo", "Model")); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
			if watched.Text != got.Text || watched.Reasoning != got.Reasoning {
				t.Errorf("watched %q and %q, got %q and %q", watched.Text, watched.Reasoning, got.Text, got.Reasoning)
			}
			if got.Reasoning != "" {
				count["with reasoning"]++
			}
			if len(got.Calls) > 1 {
				count["with parallel calls"]++
			}
		})
	}
	// All exchanges are Chat Completions, so none is out of scope. Two of the
	// malformed ones come from servers that speak something else: one echoes
	// the request, one says only that it got it; the third is Groq's, of a call
	// that it could not read. A change shows here.
	want := map[string]int{
		"answer, stream false, stop": 117, "answer, stream false, tool_calls": 73,
		"answer, stream true, stop": 37, "answer, stream true, tool_calls": 43,
		"error malformed": 3, "error refused": 5,
		"with parallel calls": 24, "with reasoning": 46,
	}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("kinds of recordings (-want +got):\n%s", diff)
	}
}

// TestReplayCut ends every recorded stream before its finish_reason: none
// passes for an answer, and each is begun again.
func TestReplayCut(t *testing.T) {
	finished := regexp.MustCompile(`"finish_reason": ?"`)
	for i, rec := range recordings(t) {
		at := finished.FindStringIndex(rec.Body)
		if !rec.SSE || at == nil {
			continue
		}
		s := &script{serve: []served{{body: rec.Body[:at[0]]}}}
		m, _ := s.model(nil)
		if _, err := m.Complete(t.Context(), hi, nil); err == nil || len(s.asked) != restarts+1 {
			t.Errorf("recording %d, %s: error %v after %d requests", i, rec.Src, err, len(s.asked))
		}
	}
}

type dict = map[string]any

// decode is the second decoder. It knows what a recording is (rec.SSE), knows
// only the spellings that are recorded, and shares no code with the package.
func decode(rec recording) (llm.Response, *llm.Error) {
	if rec.Status != 200 {
		var said dict
		_ = json.Unmarshal([]byte(rec.Body), &said)
		e, _ := said["error"].(dict)
		return llm.Response{}, refusalOf(text(e, "code"), rec.Status)
	}
	var pieces []dict
	if !rec.SSE {
		var v dict
		if json.Unmarshal([]byte(rec.Body), &v) != nil {
			return llm.Response{}, &llm.Error{Fault: llm.Malformed}
		}
		pieces = append(pieces, v)
	}
	for line := range strings.Lines(rec.Body) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok || data == "[DONE]" || !rec.SSE {
			continue
		}
		var v dict
		if json.Unmarshal([]byte(data), &v) != nil {
			panic(data)
		}
		pieces = append(pieces, v)
	}
	return gather(pieces)
}

// refusalOf is a refusal with the provider's own word for it. One of Groq's says that
// it could not read what its model wrote.
func refusalOf(code string, status int) *llm.Error {
	e := &llm.Error{Fault: llm.Refused, Status: status, Code: code}
	if code == "tool_use_failed" {
		e.Fault = llm.Malformed
	}
	return e
}

func gather(pieces []dict) (llm.Response, *llm.Error) {
	var r llm.Response
	var finish string
	nameless, choices := 0, 0
	byIndex := map[float64]int{}
	for _, p := range pieces {
		if e, ok := p["error"].(dict); ok {
			return r, refusalOf(text(e, "code"), int(number(e, "status_code")))
		}
		if x, ok := p["x_groq"].(dict); ok {
			countIn(x, &r.Usage)
		}
		countIn(p, &r.Usage)
		choices += len(list(p, "choices"))
		for _, c := range list(p, "choices") {
			finish += text(c, "finish_reason")
			m, ok := c["message"].(dict)
			if !ok {
				m, _ = c["delta"].(dict)
			}
			if s := text(m, "reasoning_content"); s != "" {
				r.Reasoning += s
			} else {
				r.Reasoning += text(m, "reasoning")
			}
			r.Text += text(m, "content") + text(m, "refusal")
			for _, part := range list(m, "content") {
				r.Text += text(part, "text")
				for _, th := range list(part, "thinking") {
					r.Reasoning += text(th, "text")
				}
			}
			gatherCalls(m, byIndex, &r)
		}
	}
	if choices == 0 {
		return r, &llm.Error{Fault: llm.Malformed}
	}
	for i := range r.Calls {
		if r.Calls[i].ID == "" {
			nameless++
			r.Calls[i].ID = fmt.Sprintf("new%d", nameless)
		}
	}
	if m := thoughts.FindStringSubmatch(r.Text); m != nil {
		r.Reasoning, r.Text = r.Reasoning+m[1], m[2]
	}
	r.Finish = "stop"
	if len(r.Calls) > 0 {
		r.Finish = "tool_calls"
	}
	if finish == "length" || finish == "content_filter" {
		r.Finish = finish
	}
	return r, nil
}

func gatherCalls(m dict, byIndex map[float64]int, r *llm.Response) {
	for n, k := range list(m, "tool_calls") {
		index := float64(n)
		if i, ok := k["index"].(float64); ok {
			index = i
		}
		at, ok := byIndex[index]
		if !ok {
			at = len(r.Calls)
			byIndex[index] = at
			r.Calls = append(r.Calls, llm.Call{})
		}
		f, _ := k["function"].(dict)
		r.Calls[at].ID += text(k, "id")
		r.Calls[at].Name += text(f, "name")
		r.Calls[at].Args += text(f, "arguments")
	}
}

var thoughts = regexp.MustCompile(`(?s)^\s*<think>\s*(.*?)</think>\s*(.*)$`)

func text(o dict, k string) string {
	s, _ := o[k].(string)
	return s
}

func number(o dict, k string) float64 {
	n, _ := o[k].(float64)
	return n
}

func list(o dict, k string) []dict {
	var out []dict
	l, _ := o[k].([]any)
	for _, v := range l {
		if one, ok := v.(dict); ok {
			out = append(out, one)
		}
	}
	return out
}

func countIn(p dict, u *llm.Usage) {
	o, ok := p["usage"].(dict)
	if !ok {
		return
	}
	in, _ := o["prompt_tokens_details"].(dict)
	out, _ := o["completion_tokens_details"].(dict)
	*u = llm.Usage{
		Prompt: int(number(o, "prompt_tokens")), Cached: int(number(in, "cached_tokens")),
		Completion: int(number(o, "completion_tokens")), Reasoning: int(number(out, "reasoning_tokens")),
	}
	if u.Reasoning > 0 && int(number(o, "total_tokens")) == u.Prompt+u.Completion+u.Reasoning {
		u.Completion += u.Reasoning
	}
	if hit := int(number(o, "prompt_cache_hit_tokens")); u.Cached == 0 {
		u.Cached = hit
	}
}
