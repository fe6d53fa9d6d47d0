package task

import "fmt"

// ValidateID checks that an id is 1 to MaxID characters out of A-Z a-z 0-9 . _
// : - and begins with a letter or a digit. Such an id is safe in a URL path, a
// file name, a shell command and a log line.
func ValidateID(id ID) error {
	if id == "" {
		return fmt.Errorf("id is empty: give the order's own id")
	}
	if len(id) > MaxID {
		return fmt.Errorf("id has %d characters: at most %d are allowed", len(id), MaxID)
	}
	for i := range len(id) {
		if c := id[i]; !alphanumeric(c) && (i == 0 || !punctuation(c)) {
			return fmt.Errorf("id has the character %q at position %d: use letters, digits and . _ : - after a first letter or digit", c, i+1)
		}
	}
	return nil
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func punctuation(c byte) bool { return c == '.' || c == '_' || c == ':' || c == '-' }
