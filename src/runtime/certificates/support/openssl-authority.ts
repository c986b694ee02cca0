/**
 * An authority issued by another tool: its subject has five kinds of attributes in three string types, and its key
 * identifier is not derived from its key. It was created once with `openssl req -new` and `openssl ca -selfsign`
 * (OpenSSL 3.0); the key protects nothing.
 */
import type { KeyPair } from '../issue.ts';

export const opensslAuthority: KeyPair = {
  certificate: `-----BEGIN CERTIFICATE-----
MIICKTCCAc+gAwIBAgIBATAKBggqhkjOPQQDAjCBgDELMAkGA1UEBhMCREUxFTAT
BgNVBAoMDEV4YW1wbGUgR21iSDERMA8GA1UECwwIUGxhdGZvcm0xETAPBgNVBAsM
CFNlY3VyaXR5MRUwEwYDVQQDDAxFeGFtcGxlIFJvb3QxHTAbBgkqhkiG9w0BCQEW
DmNhQGV4YW1wbGUuY29tMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAw
WjCBgDELMAkGA1UEBhMCREUxFTATBgNVBAoMDEV4YW1wbGUgR21iSDERMA8GA1UE
CwwIUGxhdGZvcm0xETAPBgNVBAsMCFNlY3VyaXR5MRUwEwYDVQQDDAxFeGFtcGxl
IFJvb3QxHTAbBgkqhkiG9w0BCQEWDmNhQGV4YW1wbGUuY29tMFkwEwYHKoZIzj0C
AQYIKoZIzj0DAQcDQgAE6MInqwiw4/ku3Ag4SXiGfJM4NRsygrO5VJ8IKL081HIt
3bNFHbgM0cgu2sis9EQM6VEIyEl4lOJdZnwf9JSQ+qM2MDQwEQYDVR0OBAoECAEC
AwQFBgcIMA4GA1UdDwEB/wQEAwICBDAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49
BAMCA0gAMEUCIQDC3AOrZ8YLasg19qTUF2a+l5PUuGDz4aA6/DlU8UAsqwIgfHxh
DPq+hAcayKFKvosiCG1Fx+T14g4L23seDLkbcoU=
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgrK5ODjoHP/yMBdqX
4FqbSP6sAoHp95Wxp6XYYhYTOXqhRANCAATowierCLDj+S7cCDhJeIZ8kzg1GzKC
s7lUnwgovTzUci3ds0UduAzRyC7ayKz0RAzpUQjISXiU4l1mfB/0lJD6
-----END PRIVATE KEY-----
`,
};
