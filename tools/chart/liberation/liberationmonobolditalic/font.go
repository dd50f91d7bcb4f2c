// Package liberationmonobolditalic stands in for the font of that name.
package liberationmonobolditalic

import "golang.org/x/image/font/gofont/goregular"

// TTF is not that font.
var TTF = goregular.TTF
