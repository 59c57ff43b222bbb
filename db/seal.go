package db

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
)

// Secrets of sources are sealed with AES-256-GCM under the data folder's key,
// so that a copy of the database alone gives none away. The subject binds a
// sealed secret to its place.

func (s *Store) seal(plain, subject string) ([]byte, error) {
	if plain == "" {
		return nil, nil
	}
	aead, err := s.aead()
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce) // crypto/rand.Read never returns an error
	return aead.Seal(nonce, nonce, []byte(plain), []byte(subject)), nil
}

func (s *Store) unseal(sealed []byte, subject string) (string, error) {
	if len(sealed) == 0 {
		return "", nil
	}
	aead, err := s.aead()
	if err != nil {
		return "", err
	}
	if len(sealed) < aead.NonceSize() {
		return "", errors.New("a sealed secret is too short")
	}
	plain, err := aead.Open(nil, sealed[:aead.NonceSize()], sealed[aead.NonceSize():], []byte(subject))
	if err != nil {
		return "", fmt.Errorf("unseal a secret: the key in the data folder is not the one that sealed it: %w", err)
	}
	return string(plain), nil
}

func (s *Store) aead() (cipher.AEAD, error) {
	if len(s.key) != 32 {
		return nil, errors.New("secrets cannot be kept without the key of the data folder")
	}
	block, err := aes.NewCipher(s.key)
	if err != nil {
		return nil, fmt.Errorf("use the key of the data folder: %w", err)
	}
	return cipher.NewGCM(block)
}
