package fakeslack

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// Limits of block elements (https://docs.slack.dev/reference/block-kit/block-elements).
const (
	maxButton      = 75
	maxButtonValue = 2000
	maxOptions     = 100
	maxTableText   = 10000
)

// element judges what people can use: a button, a menu, an input.
func (j *judge) element(at string, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		j.expect(false, at, "not an object")
		return
	}
	e := obj(m)
	kind := e.str("type")
	if kind == "image" {
		j.image(at, e)
		return
	}
	known := []string{
		"button", "overflow", "checkboxes", "radio_buttons", "datepicker", "timepicker", "datetimepicker", "static_select",
		"external_select", "users_select", "conversations_select", "channels_select", "multi_static_select",
		"multi_external_select", "multi_users_select", "multi_conversations_select", "multi_channels_select",
		"plain_text_input", "email_text_input", "url_text_input", "number_input", "rich_text_input", "file_input",
		"workflow_button", "feedback_buttons", "icon_button",
	}
	j.expect(slices.Contains(known, kind), at, "unsupported type: %q", kind)
	if id, ok := e["action_id"]; ok {
		name, _ := id.(string)
		n := utf8.RuneCountInString(name)
		j.expect(n >= 1 && n <= maxID, at, "action_id has %d characters, 1 to %d are allowed", n, maxID)
		j.expect(!j.actions[name], at, "action_id %q occurs twice in its block", name)
		j.actions[name] = true
	}
	switch kind {
	case "button":
		j.button(at, e)
	case "feedback_buttons":
		j.feedback(at, e)
	}
	j.expect(len(e.list("options")) <= maxOptions, at, "%d options", len(e.list("options")))
	if confirm, ok := e.child("confirm"); ok {
		j.text(at+"/confirm/title", confirm["title"], 100, true)
		j.text(at+"/confirm/text", confirm["text"], 300, false)
		j.text(at+"/confirm/confirm", confirm["confirm"], 30, true)
		j.text(at+"/confirm/deny", confirm["deny"], 30, true)
	}
}

// feedback judges a pair of buttons
// (https://docs.slack.dev/reference/block-kit/block-elements/feedback-buttons-element).
func (j *judge) feedback(at string, e obj) {
	j.only(at, e, "type", "action_id", "positive_button", "negative_button")
	for _, name := range []string{"positive_button", "negative_button"} {
		here := at + "/" + name
		b, ok := e.child(name)
		j.expect(ok, here, "it is missing")
		j.only(here, b, "text", "value", "accessibility_label")
		j.text(here+"/text", b["text"], 75, true)
		n := utf8.RuneCountInString(b.str("value"))
		j.expect(n >= 1 && n <= 2000, here, "value has %d characters, 1 to 2000 are allowed", n)
		j.expect(utf8.RuneCountInString(b.str("accessibility_label")) <= 75, here, "the accessibility_label is too long")
	}
}

func (j *judge) button(at string, e obj) {
	j.only(at, e, "type", "text", "action_id", "url", "value", "style", "confirm", "accessibility_label", "agent_prompt",
		"agent_prompt_display", "visible_to_user_ids")
	j.text(at+"/text", e["text"], maxButton, true)
	n := utf8.RuneCountInString(e.str("value"))
	j.expect(n <= maxButtonValue, at, "value has %d characters, %d are allowed", n, maxButtonValue)
	n = utf8.RuneCountInString(e.str("url"))
	j.expect(n <= maxURL, at, "url has %d characters, %d are allowed", n, maxURL)
	if style, ok := e["style"]; ok {
		j.expect(style == "primary" || style == "danger", at, "style %v", style)
	}
}

// richText judges a rich_text block as far as its parts.
func (j *judge) richText(at string, b obj) {
	parts, ok := b["elements"].([]any)
	j.expect(ok, at, "no elements")
	for i, p := range parts {
		m, _ := p.(map[string]any)
		kind := obj(m).str("type")
		here := fmt.Sprintf("%s/elements/%d", at, i)
		j.expect(slices.Contains([]string{
			"rich_text_section", "rich_text_list", "rich_text_preformatted", "rich_text_quote",
		}, kind), here, "unsupported type: %q", kind)
		j.expect(len(obj(m).list("elements")) > 0, here, "missing element")
		for k, inner := range obj(m).list("elements") {
			j.richPart(fmt.Sprintf("%s/elements/%d", here, k), kind, inner)
		}
	}
}

func (j *judge) richPart(at, parent string, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		j.expect(false, at, "not an object")
		return
	}
	e := obj(m)
	if parent == "rich_text_list" {
		j.expect(e.str("type") == "rich_text_section", at, "a list takes no %q", e.str("type"))
		j.expect(len(e.list("elements")) > 0, at, "missing element")
		for i, inner := range e.list("elements") {
			j.richPart(fmt.Sprintf("%s/elements/%d", at, i), "rich_text_section", inner)
		}
		return
	}
	switch e.str("type") {
	case "text":
		j.expect(e.str("text") != "", at, "empty text")
	case "link":
		j.expect(e.str("url") != "", at, "no url")
	case "emoji", "user", "usergroup", "channel", "broadcast", "color", "date", "team":
	default:
		j.expect(false, at, "unsupported type: %q", e.str("type"))
	}
}

func (j *judge) plan(at string, b obj) {
	j.expect(j.where == inMessage, at, "plan goes in messages only")
	j.expect(b.str("title") != "", at, "no title")
	tasks := b.list("tasks")
	j.expect(len(tasks) <= maxTasks, at, "%d tasks, %d are allowed", len(tasks), maxTasks)
	ids := map[string]bool{}
	for i, t := range tasks {
		here := fmt.Sprintf("%s/tasks/%d", at, i)
		m, _ := t.(map[string]any)
		j.expect(obj(m).str("type") == "task_card", here, "unsupported type: %q", obj(m).str("type"))
		j.task(here, m)
		id := obj(m).str("task_id")
		j.expect(!ids[id], here, "task_id %q occurs twice", id)
		ids[id] = true
	}
}

func (j *judge) task(at string, b obj) {
	j.expect(b.str("task_id") != "", at, "no task_id")
	j.expect(b.str("title") != "", at, "no title")
	if status, ok := b["status"]; ok {
		name, _ := status.(string)
		j.expect(taskStatus(name), at, "status %v", status)
	}
	for _, key := range []string{"details", "output"} {
		part, ok := b[key]
		if !ok {
			continue
		}
		m, _ := part.(map[string]any)
		j.expect(obj(m).str("type") == "rich_text", at+"/"+key, "not a rich_text block")
		j.richText(at+"/"+key, m)
	}
	for i, src := range b.list("sources") {
		m, _ := src.(map[string]any)
		j.expect(obj(m).str("type") == "url" && obj(m).str("url") != "", fmt.Sprintf("%s/sources/%d", at, i), "not a url source")
	}
}

// taskStatus says whether a task may have the status; none at all is fine.
func taskStatus(status string) bool {
	return slices.Contains([]string{"", "pending", "in_progress", "complete", "error"}, status)
}

func (j *judge) table(at string, b obj) {
	j.tables++
	rows := b.list("rows")
	j.expect(len(rows) >= 1 && len(rows) <= maxRows, at, "%d rows, 1 to %d are allowed", len(rows), maxRows)
	chars := 0
	for i, r := range rows {
		cells, _ := r.([]any)
		here := fmt.Sprintf("%s/rows/%d", at, i)
		j.expect(len(cells) >= 1 && len(cells) <= maxColumns, here, "%d cells, 1 to %d are allowed", len(cells), maxColumns)
		for k, c := range cells {
			m, _ := c.(map[string]any)
			cell := obj(m)
			where := fmt.Sprintf("%s/%d", here, k)
			switch cell.str("type") {
			case "raw_text":
				j.expect(cell.str("text") != "", where, "empty cell")
				chars += utf8.RuneCountInString(cell.str("text"))
			case "rich_text":
				j.richText(where, cell)
			default:
				j.expect(cell.str("type") == "raw_number", where, "cell of type %q", cell.str("type"))
			}
		}
	}
	j.expect(chars <= maxTableText, at, "the cells have %d characters in all, %d are allowed", chars, maxTableText)
	columns := b.list("column_settings")
	j.expect(len(columns) <= maxColumns, at, "%d column_settings", len(columns))
}

func (j *judge) video(at string, b obj) {
	for _, key := range []string{"alt_text", "thumbnail_url", "video_url"} {
		j.expect(b.str(key) != "", at, "no %s", key)
	}
	j.text(at+"/title", b["title"], 200, true)
}

func (j *judge) fileBlock(at string, b obj) {
	j.expect(b.str("external_id") != "" && b.str("source") == "remote", at, "external_id and source remote are wanted")
}

func (j *judge) alert(at string, _ obj) {
	j.expect(j.where == inModal, at, "alert goes in modals only")
}
