package fakeslack

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// maxStream is how much text a stream may hold in all.
const maxStream = 12000

// chunk is a piece of a stream.
type chunk struct {
	Type   string            `json:"type"`
	Text   string            `json:"text"`
	ID     string            `json:"id"`
	Title  string            `json:"title"`
	Status string            `json:"status"`
	Blocks []json.RawMessage `json:"blocks"`
}

func startStream(s *Server, c *call) (reply, error) {
	ch, err := s.writable(c.args["channel"])
	if err != nil {
		return nil, err
	}
	m := &message{user: BotUser, botID: BotID, streaming: true}
	if m.thread, err = s.root(ch, c); err != nil {
		return nil, err
	}
	if ch.Kind != IM && c.args["recipient_user_id"] == "" {
		return nil, breach("missing_recipient_user_id", "a stream in a channel wants a recipient")
	}
	if ch.Kind != IM && c.args["recipient_team_id"] == "" {
		return nil, breach("missing_recipient_team_id", "a stream in a channel wants a recipient")
	}
	if err := grow(c, m); err != nil {
		return nil, err
	}
	s.say(ch, m)
	return reply{"channel": ch.ID, "ts": m.ts}, nil
}

// streamOf gives a message of the bot that is streaming.
func (s *Server) streamOf(c *call) (*channel, *message, error) {
	ch, m, err := s.own(c, "message_not_owned_by_app")
	if err != nil {
		return nil, nil, err
	}
	if m.streaming && s.now().Sub(m.at) > streamLife {
		m.streaming = false
	}
	if !m.streaming {
		return nil, nil, refuse("message_not_in_streaming_state")
	}
	return ch, m, nil
}

func appendStream(s *Server, c *call) (reply, error) {
	ch, m, err := s.streamOf(c)
	if err != nil {
		return nil, err
	}
	if err := grow(c, m); err != nil {
		return nil, err
	}
	return reply{"channel": ch.ID, "ts": m.ts}, nil
}

func stopStream(s *Server, c *call) (reply, error) {
	ch, m, err := s.streamOf(c)
	if err != nil {
		return nil, err
	}
	if err := grow(c, m); err != nil {
		return nil, err
	}
	blocks, err := jsonArray(c, "blocks", "invalid_blocks")
	if err != nil {
		return nil, err
	}
	if err := checkBlocks(blocks, inMessage); err != nil {
		return nil, err
	}
	meta, err := metadata(c)
	if err != nil {
		return nil, err
	}
	before := s.render(ch, m, true)
	m.streaming, m.blocks, m.metadata = false, blocks, meta
	s.emitChanged(ch, s.render(ch, m, true), before)
	return reply{"channel": ch.ID, "ts": m.ts, "message": s.render(ch, m, true)}, nil
}

// grow adds a call's text and chunks to a stream.
func grow(c *call, m *message) error {
	text := c.args["markdown_text"]
	raw, err := jsonArray(c, "chunks", "invalid_chunks")
	if err != nil {
		return err
	}
	if text != "" && raw != nil {
		return breach("invalid_chunks", "markdown_text together with chunks")
	}
	var chunks []chunk
	if raw != nil {
		if err := json.Unmarshal(raw, &chunks); err != nil {
			return breach("invalid_chunks", "%v", err)
		}
	}
	var all strings.Builder
	all.WriteString(m.text + text)
	for _, k := range chunks {
		switch {
		case k.Type == "markdown_text":
			all.WriteString(k.Text)
		case k.Type == "task_update" && k.ID != "" && k.Title != "" && taskStatus(k.Status):
		case k.Type == "plan_update" && k.Title != "":
		case k.Type == "blocks" && len(k.Blocks) > 0 && len(k.Blocks) <= maxBlocks:
		default:
			return breach("invalid_chunks", "chunk of type %q is incomplete or unknown", k.Type)
		}
	}
	if utf8.RuneCountInString(all.String()) > maxStream {
		return breach("msg_too_long", "the stream has more than %d characters", maxStream)
	}
	m.text = all.String()
	return nil
}
