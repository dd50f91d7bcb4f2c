package slack

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/adapters/slack/api"
)

// frames are payloads of events, of odd ones too.
var frames = []string{
	`{"type":"event_callback","event_id":"E1","event":{"type":"message","channel":"C1","user":"U1","text":"hi","ts":"1.000001","blocks":[{"type":"odd"},7]}}`,
	`{"type":"event_callback","event_id":"E2","event":{"type":"message","subtype":"message_changed","channel":"C1","message":{"ts":"1.1","text":"x"},"previous_message":null}}`,
	`{"type":"event_callback","event_id":"E3","event":{"type":"reaction_added","user":"U1","reaction":"x","item":{"type":"message","channel":"C1","ts":"1.1"}}}`,
	`{"type":"event_callback","event_id":"E4","event":{"type":"channel_rename","channel":{"id":"C1"}}}`,
	`{"type":"event_callback","event_id":"E5","event":{"type":"message","channel":{"id":"C1"}}}`,
	`{"type":"event_callback","event_id":"E6","event":{"type":"message","channel":"C1"}}`,
	`{"type":"event_callback","event_id":"E7","event":{}}`,
	`{"type":"event_callback","event_id":8,"event":{"type":"message"}}`,
	`{"type":"event_callback","event_id":"E9","event":null}`, `{"type":"event_callback","event_id":"E10","event":[]}`, `{"type":"event_callback"}`,
	`{"type":"app_rate_limited","minute_rate_limited":1}`, `{"type":"app_rate_limited","event":{"type":"message"}}`, `[]`, `null`, `7`,
}

// Reading an event with its frame gives the same as reading level by level.
func TestEnvelopes(t *testing.T) {
	atOnce := 0
	for _, payload := range frames {
		env, err := api.ReadEnvelope([]byte(`{"type":"events_api","envelope_id":"V1","retry_attempt":2,"payload":` + payload + `}`))
		if err != nil || env.Type != "events_api" || env.EnvelopeID != "V1" || env.RetryAttempt != 2 {
			t.Errorf("%s: envelope %+v, %v", payload, env, err)
		}
		if env.Event != nil {
			atOnce++
		}
		c, ev, err := env.Read()
		wantC, want, wantErr := api.ReadEvent([]byte(payload))
		if c.EventID != wantC.EventID || (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %q, %v; a level at a time %q, %v", payload, c.EventID, err, wantC.EventID, wantErr)
		}
		if diff := cmp.Diff(want, ev); diff != "" {
			t.Errorf("%s: event (-level at a time +at once):\n%s", payload, diff)
		}
	}
	if atOnce != 5 {
		t.Errorf("%d of %d events are read with their frames", atOnce, len(frames))
	}
	click := `{"type":"interactive","envelope_id":"V2","payload":{"type":"block_actions","user":{"id":"U1"}}}`
	env, err := api.ReadEnvelope([]byte(click))
	var in api.Interaction
	if err != nil || json.Unmarshal(env.Payload, &in) != nil || in.User.ID != "U1" {
		t.Errorf("the payload of a click is %s, %v", env.Payload, err)
	}
	if _, err := api.ReadEnvelope([]byte(`{"type":7}`)); err == nil {
		t.Error("a frame of another form is read")
	}
}

// BenchmarkEnvelope is what an event costs before anything is done about it.
func BenchmarkEnvelope(b *testing.B) {
	m := `{"ts":"1.1","text":"x","blocks":[` + strings.Repeat(`{"type":"section","text":{"type":"mrkdwn","text":"*Action* clock"}},`, 20) + `{}]}`
	frame := []byte(`{"type":"events_api","envelope_id":"V1","payload":{"type":"event_callback","event_id":"E1","event":{"type":"message",` +
		`"subtype":"message_changed","channel":"C1","message":` + m + `,"previous_message":` + m + `}}}`)
	b.Run("with its frame", func(b *testing.B) {
		for b.Loop() {
			env, _ := api.ReadEnvelope(frame)
			_, _, _ = env.Read()
		}
	})
	b.Run("a level at a time", func(b *testing.B) {
		for b.Loop() {
			var env api.Envelope
			_ = json.Unmarshal(frame, &env)
			_, _, _ = api.ReadEvent(env.Payload)
		}
	})
}
