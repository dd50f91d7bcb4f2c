package fakeslack

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// send makes a call with exactly these arguments.
func send(t *testing.T, s *Server, method string, args url.Values) string {
	t.Helper()
	args.Set("token", s.BotToken())
	return answered(t, must(http.PostForm(s.APIURL()+method, args))(t))
}

func sendJSON(t *testing.T, s *Server, method string, body any) string {
	t.Helper()
	raw := must(json.Marshal(body))(t)
	req := must(http.NewRequestWithContext(t.Context(), http.MethodPost, s.APIURL()+method, bytes.NewReader(raw)))(t)
	req.Header.Set("Authorization", "Bearer "+s.BotToken())
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	return answered(t, must(http.DefaultClient.Do(req))(t))
}

func answered(t *testing.T, res *http.Response) string {
	t.Helper()
	defer func() { _ = res.Body.Close() }()
	var out struct{ Error string }
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out.Error
}

// Calls that don't fit the published description of their method are noted,
// though Slack may take them.
func TestContract(t *testing.T) {
	type form = url.Values
	tests := []struct {
		name, method string
		args         form
		want         string
	}{
		{"fits", "chat.postMessage", form{"channel": {"C0GENERAL"}, "text": {"x"}, "unfurl_links": {"false"}}, ""},
		{"unknown argument", "chat.postMessage", form{"channel": {"C0GENERAL"}, "text": {"x"}, "client_msg_id": {"1"}}, "unknown argument client_msg_id"},
		{"missing argument", "chat.postMessage", form{"text": {"x"}}, "missing argument channel"},
		{"no boolean", "chat.postMessage", form{"channel": {"C0GENERAL"}, "text": {"x"}, "mrkdwn": {"no"}}, "mrkdwn: not a boolean"},
		{"no number", "files.getUploadURLExternal", form{"filename": {"a"}, "length": {"long"}}, "length: not a number"},
		{"out of range", "conversations.replies", form{"channel": {"C0GENERAL"}, "ts": {"1.000001"}, "limit": {"1001"}}, "out of range"},
		{"not one of", "agents.sessions.setStatus", form{"channel_id": {"C0GENERAL"}, "status": {"busy"}}, "not one of"},
		{"too many items", "assistant.threads.setStatus", form{
			"channel_id": {"C0GENERAL"}, "thread_ts": {"1.1"}, "status": {"x"},
			"loading_messages": {`["1","2","3","4","5","6","7","8","9","10","11"]`},
		}, "has 11 items"},
		{"known slip", "chat.appendStream", form{"channel": {"C0GENERAL"}, "ts": {"1.000001"}, "chunks": {"[]"}}, ""},
		{"unknown method", "chat.meMessage", form{}, "unknown_method"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Start(t, Options{Lenient: true})
			if !s.Checked() {
				t.Skip("no method descriptions beside the checkout")
			}
			send(t, s, tt.method, tt.args)
			got := strings.Join(s.Violations(), "\n")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A JSON body says the same as a form.
func TestJSONBody(t *testing.T) {
	s := Start(t, Options{})
	blocks := []any{map[string]any{"type": "divider"}}
	body := map[string]any{"channel": "C0GENERAL", "text": "x", "unfurl_links": false, "blocks": blocks}
	if got := sendJSON(t, s, "chat.postMessage", body); got != "" {
		t.Fatal(got)
	}
	m := s.Messages("C0GENERAL", "")
	if len(m) != 1 || m[0].Text != "x" || string(m[0].Blocks) != `[{"type":"divider"}]` {
		t.Errorf("got %+v", m)
	}
	if got := s.Calls("chat.postMessage")[0].Args["unfurl_links"]; got != "false" {
		t.Errorf("got %q", got)
	}
}

// Every method that is described and that the fake knows has a limit and
// answers something other than an internal error to an empty call.
func TestEveryMethod(t *testing.T) {
	for name := range methods {
		t.Run(name, func(t *testing.T) {
			s := Start(t, Options{Lenient: true})
			if got := send(t, s, name, url.Values{}); got == "internal_error" {
				t.Errorf("got %s", got)
			}
			if methods[name].limit.rate == 0 {
				t.Error("no limit")
			}
		})
	}
}
