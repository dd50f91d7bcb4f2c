package layout

import (
	"net/url"
	"strings"

	"nod/adapters/slack/api"
	"nod/chat"
	forms "nod/chat/form"
	"nod/chat/markdown"
)

// The buttons. The value of one that decides is the emoji that it stands for; the address
// of what it is about may follow.
const (
	ApproveID = "nod_approve"
	DenyID    = "nod_deny"
	GrantID   = "nod_grant"
	EditID    = "nod_edit"
	CodeID    = "nod_code"
	GrantByID = "nod_code_grant"
	AgainID   = "nod_again"
	RetryID   = "nod_retry"
	OpinionID = "nod_opinion"
	TellID    = "nod_tell"
)

// The values of the buttons that say what somebody thinks.
const (
	ThinksGood = "good"
	ThinksBad  = "bad"
)

// mostValue is how long the value of a button may be.
const mostValue = 2000

// ValueOn is the value of a button that is about another message than its own: the first
// of an answer.
func ValueOn(value, answer string) string { return strings.TrimSuffix(value+" "+answer, " ") }

// ValueOf is the value of a button that is about a call; "" where it is too long.
func ValueOf(thread, call string, digest ...string) string {
	value := strings.Join(append([]string{thread, url.PathEscape(call)}, digest...), " ")
	if markdown.UTF16(value) > mostValue {
		return ""
	}
	return value
}

// Permalink is the address of a message, as chat.getPermalink gives it.
func Permalink(workspace string, thread chat.ThreadID, ref chat.MessageRef) string {
	channel := api.ChannelOf(ref.Channel)
	at := strings.TrimSuffix(workspace, "/") + "/archives/" + channel + "/p" + strings.ReplaceAll(ref.ID, ".", "")
	if thread.Root == "" || thread.Root == ref.ID {
		return at
	}
	return at + "?" + url.Values{"thread_ts": {thread.Root}, "cid": {channel}}.Encode()
}

// Roomy is what a form has room for
// (https://docs.slack.dev/reference/block-kit/block-elements).
var Roomy = forms.Bounds{Fields: 90, ID: 255, Label: 150, Text: 3000, Options: 100, Option: 75, Title: 24, Card: mostInline}
