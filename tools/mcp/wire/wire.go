// Package wire brings messages of MCP servers into a form that the SDK reads. It knows the
// messages of both versions that have tasks, and nothing of servers or calls.
package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"slices"
	"strings"
)

// The SDK takes a message whole or not at all: one item of a result that it does
// not know, and an answer that came is a call of which nobody knows what became.
// So messages are looked through before it sees them, and an item that it could not
// read becomes a text that says so.

// TaskMeta is where a tool is marked that only runs as a task (execution.taskSupport), and
// a result that is a task with its id: the SDK has no word for either.
const TaskMeta = "nod/task"

// Unshown stands for an item that can't be read.
const Unshown = "(it also gave something of a kind that can't be shown here)"

// Tidy gives a message in a form that the SDK reads. What is no result of a call
// and no list of tools stays as it is, byte for byte.
func Tidy(message []byte) []byte {
	if !bytes.Contains(message, []byte(`"result"`)) {
		return message
	}
	return Edit(message, tidy)
}

// Edit is a message after a change, which says whether there was one. Without any it
// stays as it is, byte for byte.
func Edit(message []byte, change func(m map[string]any) bool) []byte {
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(message))
	d.UseNumber()
	if d.Decode(&m) != nil || !change(m) {
		return message
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return message
	}
	return raw
}

func tidy(m map[string]any) (changed bool) {
	result, _ := m["result"].(map[string]any)
	items, _ := result["content"].([]any)
	for i, item := range items {
		if better := tidyItem(item); better != nil {
			items[i], changed = better, true
		}
	}
	list, _ := result["tools"].([]any)
	for _, item := range list {
		t, _ := item.(map[string]any)
		if execution, _ := t["execution"].(map[string]any); execution["taskSupport"] == "required" {
			SetMeta(t, TaskMeta, "required")
			changed = true
		}
	}
	if id := taskOf(result); id != "" {
		SetMeta(result, TaskMeta, id)
		changed = true
	}
	return changed
}

// taskOf is the id of the task that a result is, in the form of either version of the
// protocol; "" where it is none.
func taskOf(result map[string]any) string {
	older, _ := result["task"].(map[string]any)
	if id, _ := older["taskId"].(string); id != "" {
		return id
	}
	id, _ := result["taskId"].(string)
	if result["resultType"] != "task" {
		return ""
	}
	return id
}

// SetMeta writes a text into the _meta of an object; an empty one only takes it out.
func SetMeta(all map[string]any, key, text string) {
	meta, ok := all["_meta"].(map[string]any)
	if !ok {
		meta = map[string]any{}
	}
	delete(meta, key)
	if text != "" {
		meta[key] = text
	}
	all["_meta"] = meta
}

// tidyItem gives an item of a result anew; nil: it is as it should be.
func tidyItem(item any) any {
	c, _ := item.(map[string]any)
	switch c["type"] {
	case "text": // a value that could be a string becomes one
		if texts(c, "text") {
			return nil
		}
		raw, _ := json.Marshal(c["text"]) // it was read from JSON
		return textItem(string(raw))
	case "image", "audio":
		if !texts(c, "data", "mimeType") {
			break
		}
		if isBase64(c["data"]) {
			return nil
		}
		// Data may come as an address (data:image/png;base64,…).
		data, _ := c["data"].(string)
		if _, bare, ok := strings.Cut(data, ";base64,"); ok && isBase64(bare) {
			c["data"] = bare
			return c
		}
	case "resource_link":
		if texts(c, "uri", "name", "title", "description", "mimeType") {
			return nil
		}
	case "resource":
		if r, ok := c["resource"].(map[string]any); ok && texts(r, "uri", "mimeType", "text") && isBase64(r["blob"]) {
			return nil
		}
	}
	return textItem(Unshown)
}

// texts says whether members of an object are texts, as far as they are there.
func texts(all map[string]any, keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool {
		_, ok := all[key].(string)
		return !ok && all[key] != nil
	})
}

// isBase64 says whether a value is bytes, or none.
func isBase64(value any) bool {
	text, ok := value.(string)
	_, err := io.Copy(io.Discard, base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	return err == nil && (ok || value == nil)
}

func textItem(text string) any { return map[string]any{"type": "text", "text": text} }
