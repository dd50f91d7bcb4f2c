package slack

import (
	"encoding/json"
	"errors"
	"fmt"
)

// envelope is one frame of Socket Mode
// (https://docs.slack.dev/apis/events-api/using-socket-mode).
type envelope struct {
	Type         string          `json:"type"`
	EnvelopeID   string          `json:"envelope_id"`
	Payload      json.RawMessage `json:"payload"`
	RetryAttempt int             `json:"retry_attempt"`

	answer any    // goes along with the acknowledgement; nil: nothing
	event  *event // the event in it, where that was read with the frame
	id     string // of the event
}

// readEnvelope reads a frame. Nearly all bear events, which are read in one go: what
// is looked at as raw JSON first is gone through twice more at each level. Any other
// frame, and an event of an odd shape, is read a level at a time.
func readEnvelope(frame []byte) (envelope, error) {
	var whole struct {
		Type         string `json:"type"`
		EnvelopeID   string `json:"envelope_id"`
		RetryAttempt int    `json:"retry_attempt"`
		Payload      struct {
			Type    string `json:"type"`
			EventID string `json:"event_id"`
			Event   *event `json:"event"`
		} `json:"payload"`
	}
	err := json.Unmarshal(frame, &whole)
	in := whole.Payload
	if err == nil && whole.Type == "events_api" && in.Type != rateLimited && in.Event != nil {
		return envelope{Type: whole.Type, EnvelopeID: whole.EnvelopeID, RetryAttempt: whole.RetryAttempt, event: in.Event, id: in.EventID}, nil
	}
	var env envelope
	if err := json.Unmarshal(frame, &env); err != nil {
		return env, malformed("frame", err)
	}
	return env, nil
}

// read gives the event of an events_api envelope.
func (e envelope) read() (callback, event, error) {
	if e.event == nil {
		return readEvent(e.Payload)
	}
	return callback{EventID: e.id}, *e.event, e.event.check()
}

// rateLimited is a callback without an event.
const rateLimited = "app_rate_limited"

// callback wraps an event of the Events API.
type callback struct {
	Type    string          `json:"type"`
	EventID string          `json:"event_id"`
	Event   json.RawMessage `json:"event"`

	again bool // Slack delivers it once more
}

// event is what nod reads of any event, and of a message in a history. Slack
// adds fields, and leaves out others, so nothing here is required.
type event struct {
	Type        string          `json:"type"`
	Subtype     string          `json:"subtype"`
	Hidden      bool            `json:"hidden"`
	Channel     string          `json:"channel"`
	User        string          `json:"user"`
	BotID       string          `json:"bot_id"`
	Username    string          `json:"username"`
	Text        string          `json:"text"`
	TS          string          `json:"ts"`
	ThreadTS    string          `json:"thread_ts"`
	Starter     string          `json:"parent_user_id"` // who wrote the message that the thread is about
	LatestReply string          `json:"latest_reply"`
	EventTS     string          `json:"event_ts"`
	DeletedTS   string          `json:"deleted_ts"`
	ClientMsgID string          `json:"client_msg_id"`
	Message     *event          `json:"message"`
	Previous    *event          `json:"previous_message"`
	Files       json.RawMessage `json:"files"`
	Blocks      json.RawMessage `json:"blocks"`
	Attachments json.RawMessage `json:"attachments"`
	Metadata    json.RawMessage `json:"metadata"`
	Edited      json.RawMessage `json:"edited"`
	Reaction    string          `json:"reaction"`
	Reactions   json.RawMessage `json:"reactions"`
	Item        json.RawMessage `json:"item"`
	Tab         string          `json:"tab"`
}

// item is what a reaction is on.
type item struct {
	Type    string `json:"type"`
	Channel string `json:"channel"`
	TS      string `json:"ts"`
}

// interaction is a click, a form that was sent or closed, or a shortcut.
type interaction struct {
	Type      string `json:"type"`
	TriggerID string `json:"trigger_id"`
	Callback  string `json:"callback_id"`
	ActionTS  string `json:"action_ts"`
	User      struct {
		ID string `json:"id"`
	} `json:"user"`
	Channel struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"channel"`
	Container struct {
		TS     string `json:"message_ts"`
		Thread string `json:"thread_ts"`
	} `json:"container"`
	Message *event `json:"message"`
	View    struct {
		ID       string `json:"id"`
		Callback string `json:"callback_id"`
		Private  string `json:"private_metadata"`
		Blocks   []struct {
			ID string `json:"block_id"`
		} `json:"blocks"`
		State struct {
			Values map[string]map[string]struct {
				Value   string   `json:"value"`
				Option  *chosen  `json:"selected_option"`
				Options []chosen `json:"selected_options"`
			} `json:"values"`
		} `json:"state"`
	} `json:"view"`
	Actions []action `json:"actions"`
}

// action is a button that somebody clicked.
type action struct {
	ActionID string `json:"action_id"`
	Value    string `json:"value"`
	TS       string `json:"action_ts"`
}

// chosen is an option that somebody chose.
type chosen struct {
	Value string `json:"value"`
}

// errMalformed is for events that can't be understood, and won't be when they
// are delivered again.
var errMalformed = errors.New("malformed event")

func malformed(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errMalformed, what, err)
	}
	return fmt.Errorf("%w: %s", errMalformed, what)
}

// readEvent reads the payload of an events_api envelope.
func readEvent(payload json.RawMessage) (callback, event, error) {
	var c callback
	var ev event
	if err := json.Unmarshal(payload, &c); err != nil {
		return c, ev, malformed("payload", err)
	}
	if c.Type == rateLimited {
		return c, event{Type: c.Type}, nil
	}
	if len(c.Event) == 0 {
		return c, ev, malformed("no event in it", nil)
	}
	if err := json.Unmarshal(c.Event, &ev); err != nil {
		// Some events that are of no interest have other shapes.
		var kind struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(c.Event, &kind) == nil && kind.Type != "" && !handled[kind.Type] {
			return c, event{Type: kind.Type}, nil
		}
		return c, ev, malformed("event", err)
	}
	return c, ev, ev.check()
}

// handled are the types of event that mean something here.
var handled = map[string]bool{
	"message": true, "app_mention": true, "reaction_added": true, "reaction_removed": true,
	"agent_session_stopped": true, "app_home_opened": true,
}

// check finds what an event of its type can't be without.
func (ev event) check() error {
	switch {
	case ev.Type == "":
		return malformed("no type", nil)
	case ev.Type == "app_mention", ev.Type == "message" && ev.Subtype == "":
		if ev.Channel == "" || sentAt(ev.TS).IsZero() {
			return malformed("message without channel or timestamp", nil)
		}
	case ev.Subtype == "message_changed" && ev.Message == nil:
		return malformed("edit without message", nil)
	case ev.Type == "reaction_added", ev.Type == "reaction_removed":
		if ev.User == "" || ev.Reaction == "" {
			return malformed("reaction without user or name", nil)
		}
	}
	return nil
}

// on says what a reaction is on; ok is false when that is no message.
func (ev event) on() (item, bool) {
	var it item
	if err := json.Unmarshal(ev.Item, &it); err != nil || it.Type != "message" || it.Channel == "" || it.TS == "" {
		return it, false
	}
	return it, true
}

// root is the timestamp of the first message of the thread that the message
// stands in, or opens.
func (ev event) root() string {
	if ev.ThreadTS != "" {
		return ev.ThreadTS
	}
	return ev.TS
}

// isReply says whether the message stands in somebody's thread.
func (ev event) isReply() bool { return ev.ThreadTS != "" && ev.ThreadTS != ev.TS }
