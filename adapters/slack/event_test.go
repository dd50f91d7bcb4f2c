package slack

import (
	"encoding/json"
	"testing"

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

// A frame of any event is read, and what is odd in it is told.
func TestEnvelopes(t *testing.T) {
	read := 0
	for _, payload := range frames {
		env, err := api.ReadEnvelope([]byte(`{"type":"events_api","envelope_id":"V1","retry_attempt":2,"payload":` + payload + `}`))
		if err != nil || env.Type != "events_api" || env.EnvelopeID != "V1" || env.RetryAttempt != 2 {
			t.Errorf("%s: envelope %+v, %v", payload, env, err)
		}
		if _, ev, err := api.ReadEvent(env.Payload); err == nil && ev.Type != "" {
			read++
		} else if err == nil {
			t.Errorf("%s: an event of no type", payload)
		}
	}
	if read != 6 {
		t.Errorf("%d of %d events are read", read, len(frames))
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
