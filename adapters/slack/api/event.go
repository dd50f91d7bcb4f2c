package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	slackgo "github.com/slack-go/slack"

	"nod/chat"
	"nod/chat/form"
)

// Envelope is one frame of Socket Mode
// (https://docs.slack.dev/apis/events-api/using-socket-mode).
type Envelope struct {
	Type         string          `json:"type"`
	EnvelopeID   string          `json:"envelope_id"`
	Payload      json.RawMessage `json:"payload"`
	RetryAttempt int             `json:"retry_attempt"`
	// The first frame of a socket, and the last, tell these.
	Connections int    `json:"num_connections"`
	Reason      string `json:"reason"`
	Debug       struct {
		Seconds int `json:"approximate_connection_time"`
	} `json:"debug_info"`
}

// ReadEnvelope reads a frame.
func ReadEnvelope(frame []byte) (env Envelope, err error) {
	if err = json.Unmarshal(frame, &env); err != nil {
		err = Malformed("frame", err)
	}
	return env, err
}

// RateLimited is a callback without an event.
const RateLimited = "app_rate_limited"

// Callback wraps an event of the Events API.
type Callback struct {
	Type    string          `json:"type"`
	EventID string          `json:"event_id"`
	Event   json.RawMessage `json:"event"`

	Again bool // Slack delivers it once more
}

// Event is what nod reads of any event, and of a message in a history. Slack
// adds fields, and leaves out others, so nothing here is required.
type Event struct {
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
	ReplyUsers  []string        `json:"reply_users"` // some of who answered
	EventTS     string          `json:"event_ts"`
	DeletedTS   string          `json:"deleted_ts"`
	ClientMsgID string          `json:"client_msg_id"`
	Message     *Event          `json:"message"`
	Previous    *Event          `json:"previous_message"`
	Files       json.RawMessage `json:"files"`
	Blocks      json.RawMessage `json:"blocks"`
	Attachments json.RawMessage `json:"attachments"`
	Metadata    json.RawMessage `json:"metadata"`
	Edited      json.RawMessage `json:"edited"`
	Reaction    string          `json:"reaction"`
	Item        json.RawMessage `json:"item"`
	Tab         string          `json:"tab"`
	ActionToken string          `json:"action_token"` // searches with the author's eyes; older apps get it in Assistant
	Assistant   struct {
		ActionToken string `json:"action_token"`
	} `json:"assistant_thread"`
}

// Item is what a reaction is on.
type Item struct {
	Type    string `json:"type"`
	Channel string `json:"channel"`
	TS      string `json:"ts"`
}

// Interaction is a click, a form that was sent or closed, or a shortcut.
type Interaction struct {
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
	Message *Event `json:"message"`
	View    struct {
		ID       string `json:"id"`
		Callback string `json:"callback_id"`
		Private  string `json:"private_metadata"`
		Blocks   []struct {
			ID string `json:"block_id"`
		} `json:"blocks"`
		State struct {
			Values map[string]map[string]slackgo.BlockAction `json:"values"`
		} `json:"state"`
	} `json:"view"`
	Actions []slackgo.BlockAction `json:"actions"`
}

// ErrMalformed is for events that can't be understood, and won't be when they
// are delivered again.
var ErrMalformed = errors.New("malformed event")

// Malformed is an error of an event that is not understood.
func Malformed(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrMalformed, what, err)
	}
	return fmt.Errorf("%w: %s", ErrMalformed, what)
}

// ReadEvent reads the payload of an events_api envelope.
func ReadEvent(payload json.RawMessage) (Callback, Event, error) {
	var c Callback
	var ev Event
	if err := json.Unmarshal(payload, &c); err != nil {
		return c, ev, Malformed("payload", err)
	}
	if c.Type == RateLimited {
		return c, Event{Type: c.Type}, nil
	}
	if len(c.Event) == 0 {
		return c, ev, Malformed("no event in it", nil)
	}
	if err := json.Unmarshal(c.Event, &ev); err != nil {
		// Some events that are of no interest have other shapes.
		var kind struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(c.Event, &kind) == nil && kind.Type != "" && !Handled[kind.Type] {
			return c, Event{Type: kind.Type}, nil
		}
		return c, ev, Malformed("event", err)
	}
	return c, ev, ev.check()
}

// Handled are the types of event that mean something here.
var Handled = map[string]bool{
	"message": true, "app_mention": true, "reaction_added": true, "reaction_removed": true,
	"agent_session_stopped": true, "app_home_opened": true,
}

// check finds what an event of its type can't be without.
func (ev Event) check() error {
	switch {
	case ev.Type == "":
		return Malformed("no type", nil)
	case ev.Type == "app_mention", ev.Type == "message" && ev.Subtype == "":
		if ev.Channel == "" || SentAt(ev.TS).IsZero() {
			return Malformed("message without channel or timestamp", nil)
		}
	case ev.Subtype == "message_changed" && ev.Message == nil:
		return Malformed("edit without message", nil)
	case ev.Type == "reaction_added", ev.Type == "reaction_removed":
		if ev.User == "" || ev.Reaction == "" {
			return Malformed("reaction without user or name", nil)
		}
	}
	return nil
}

// On says what a reaction is on; ok is false when that is no message.
func (ev Event) On() (Item, bool) {
	var it Item
	if err := json.Unmarshal(ev.Item, &it); err != nil || it.Type != "message" || it.Channel == "" || it.TS == "" {
		return it, false
	}
	return it, true
}

// Root is the timestamp of the first message of the thread that the message
// stands in, or opens.
func (ev Event) Root() string {
	if ev.ThreadTS != "" {
		return ev.ThreadTS
	}
	return ev.TS
}

// IsReply says whether the message stands in somebody's thread.
func (ev Event) IsReply() bool { return ev.ThreadTS != "" && ev.ThreadTS != ev.TS }

// About reads the value of a button: what it says, and of which message.
func (in Interaction) About(value string) (said, ts string) {
	said, ts, _ = strings.Cut(value, " ")
	return said, chat.FirstOf(ts, in.Container.TS)
}

// Filled lists what the fields of a form were filled in with, in order.
func (in Interaction) Filled() (out []form.Filled) {
	for _, b := range in.View.Blocks {
		for _, v := range in.View.State.Values[b.ID] {
			f := form.Filled{ID: b.ID, Value: chat.FirstOf(v.SelectedOption.Value, v.Value)}
			for _, o := range v.SelectedOptions {
				f.Value = o.Value
			}
			out = append(out, f)
		}
	}
	return out
}

// By says whether the bot wrote a message.
func (ev Event) By(who Whoami) bool {
	return ev.User == who.UserID || ev.BotID != "" && ev.BotID == who.BotID
}
