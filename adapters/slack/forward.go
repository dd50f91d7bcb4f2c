package slack

import (
	"encoding/json"

	"nod/adapters/slack/api"
	"nod/chat"
)

// A message that somebody passes on stands in an attachment of theirs, with its
// files; the message's own text is what they say about it, and may be empty. Alerts
// of other apps stand in attachments too. None of it is the sender's word: it is
// quoted, and neither a mention nor a command in it counts.

// attachment is what nod reads of one
// (https://docs.slack.dev/messaging/formatting-message-text#attachments).
type attachment struct {
	Share     bool            `json:"is_share"`
	Message   bool            `json:"is_msg_unfurl"`
	AuthorID  string          `json:"author_id"`
	Author    string          `json:"author_name"`
	Channel   string          `json:"channel_name"`
	ChannelID string          `json:"channel_id"`
	TS        string          `json:"ts"`
	FromURL   string          `json:"from_url"`
	Original  string          `json:"original_url"`
	Text      string          `json:"text"`
	Blocks    json.RawMessage `json:"blocks"`
	Fallback  string          `json:"fallback"`
	Footer    string          `json:"footer"`
	Files     json.RawMessage `json:"files"`
	raw       json.RawMessage
}

// mostAttachments is how many are read of a message.
const mostAttachments = 20

// attachments are those of a message that say something. The preview of a link
// does not: the link is in the text.
func attachments(ev api.Event) []attachment {
	var all []json.RawMessage
	if len(ev.Attachments) == 0 || json.Unmarshal(ev.Attachments, &all) != nil {
		return nil
	}
	var out []attachment
	for _, raw := range all[:min(len(all), mostAttachments)] {
		a := attachment{raw: raw}
		if json.Unmarshal(raw, &a) != nil {
			a = attachment{raw: raw}
		}
		if preview := a.FromURL != "" || a.Original != ""; preview && !a.Share && !a.Message {
			continue
		}
		out = append(out, a)
	}
	return out
}

// says is all that an attachment says, in Slack's markup, each line once: of a message
// first its text, of an alert the title.
func (a attachment) says() string {
	if a.Share || a.Message {
		return joined(a.Text, dug(a.raw))
	}
	return joined(joined("", dug(a.raw)), a.Footer) // the footer of the others says where it was posted
}

// ref is the message that an attachment passes on.
func (a attachment) ref(team string) chat.MessageRef {
	if a.ChannelID == "" || a.TS == "" {
		return chat.MessageRef{}
	}
	return api.InThread(api.ThreadID(team, a.ChannelID, ""), a.TS)
}

// pasted says whether an attachment is what the writer pasted into the message, such as the
// cells of a sheet.
func (a attachment) pasted() bool {
	return len(a.Blocks) > 0 && a.Text == "" && (a.Fallback == "" || a.Fallback == noPreview) && a.AuthorID == "" && a.Author == "" && a.FromURL == "" && !a.Share && !a.Message
}

// passedOn quotes what a message passes on. author is who it is said to be by
// where the attachment doesn't say.
func (w words) passedOn(ev api.Event, author chat.User) []chat.Quote {
	w.self = nil
	var out []chat.Quote
	for _, a := range attachments(ev) {
		text := w.readable(a.says())
		if text == "" || a.pasted() {
			continue
		}
		from := author
		if a.AuthorID != "" || a.Author != "" {
			from = chat.User{ID: chat.UserID(a.AuthorID), Name: chat.FirstOf(a.Author, a.AuthorID)}
		}
		if a.Channel != "" {
			from.Name = chat.FirstOf(from.Name, string(from.ID), "somebody") + " in #" + a.Channel
		}
		out = append(out, chat.Quote{From: from, Text: text, Ref: a.ref(w.team)})
	}
	return out
}

// allFiles are the files of a message, and of what it passes on.
func allFiles(ev api.Event) []file {
	files := filesOf(ev)
	for _, a := range attachments(ev) {
		files = append(files, filesOf(api.Event{Files: a.Files})...)
	}
	return files
}
