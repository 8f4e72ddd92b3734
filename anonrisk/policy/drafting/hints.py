"""What the name of a column says about its role, in the languages that tables are written in.

English, Dutch, German, French, Spanish, Italian and Portuguese, without accents. A name is a hint
for a person to look at, no proof; that none of these words is in it says nothing.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anonrisk.core.columns import Name

# Names of columns that name a person, or lead to one; compared with the whole name, without signs.
_DIRECT = frozenset(
    """
    name fullname firstname lastname middlename surname forename givenname familyname maidenname
    patientname customername clientname username login nickname initials
    naam voornaam achternaam voorletters vorname nachname familienname
    nom prenom nomdefamille nombre apellido apellidos cognome nomecompleto sobrenome
    address streetaddress homeaddress street streetname housenumber adres straat huisnummer
    adresse anschrift strasse hausnummer rue direccion calle indirizzo endereco
    ipaddress ip ssn socialsecuritynumber socialsecurity nationalid nin bsn burgerservicenummer
    dni nie nif codicefiscale cpf nir steuerid steuernummer taxid passport passportnumber paspoort
    mrn medicalrecordnumber healthplannumber insurancenumber policynumber verzekeringsnummer
    licenseplate licenceplate kenteken kennzeichen numberplate vin driverslicense
    creditcard cardnumber iban bankaccount accountnumber rekeningnummer kontonummer
    signature photo fingerprint url homepage mobile mobiel handy celular
    """.split()  # noqa: SIM905 - a list of words is read as one
)
# These lead to a person wherever they stand in a name.
_DIRECT_WORDS = frozenset(
    """
    email mail telephone phone telefoon telefoonnummer telefon telefonnummer telefono telefone
    fax ssn bsn iban passport
    """.split()  # noqa: SIM905
)
# What must not be learned about a person; words of a name, or the beginning of one.
_SENSITIVE = (
    *("diagnos", "disease", "illness", "sickness", "ziekte", "aandoening", "krankheit", "maladie"),
    *("enfermedad", "malattia", "doenca", "icd", "comorbid", "symptom", "hiv", "cancer", "tumor"),
    *("injur", "letsel", "verletz", "blessure", "lesion"),
    *("medication", "medicatie", "medicine", "medikament", "medicament", "prescription"),
    *("treatment", "behandeling", "behandlung", "traitement", "tratamiento", "therap"),
    *("mental", "psych", "addiction", "verslaving", "alcohol", "drug", "smok", "abortion"),
    *("pregnan", "genotype", "genetic", "mutation", "labresult", "testresult"),
    *("income", "inkomen", "einkommen", "revenu", "ingreso", "reddito", "renda"),
    *("salar", "wage", "earning", "loon", "lohn", "gehalt", "sueldo", "stipendi"),
    *("wealth", "vermogen", "asset", "saving", "spaargeld", "debt", "deuda", "dette", "schulden"),
    *("creditscore", "balance", "saldo", "mortgage", "hypotheek", "capitalgain", "capitalloss"),
    *("cost", "kosten", "charges", "expend", "bonus"),
    *("religio", "faith", "geloof", "glaube", "konfession", "godsdienst"),
    *("politic", "politiek", "politisch", "partij", "vote", "tradeunion", "vakbond"),
    *("sexualorientation", "sexuality", "orientation", "geaardheid"),
    *("crimin", "convict", "offence", "offense", "arrest", "strafblad", "straftat", "delict"),
)
# Special categories of personal data that others can often see, so that they single out as well.
_SEEN = (
    *("race", "irace", "ethni", "etni", "hispanic", "origin", "herkomst", "herkunft"),
    *("nationalit", "disab", "handicap", "behinderung"),
)
# What others usually know, in whatever proportions it comes.
_KNOWN = (
    *("sex", "gender", "geslacht", "geschlecht", "genre", "genero", "sesso", "age", "leeftijd"),
    *("alter", "edad", "idade", "birth", "born", "geboorte", "geboren", "geburt", "naissance"),
    *("nacimiento", "nascita", "nascimento", "zip", "post", "plz", "city", "town", "gemeente"),
    *("region", "state", "country", "residence", "marital", "educ", "occupation"),
)
_BIRTH = (
    *("birth", "born", "dob", "geboorte", "geboren", "geburt", "naissance", "nacimiento"),
    *("nascita", "nascimento"),
)
# Degrees of a place; where these words stand alone, or at the end of a name.
_COORDINATE = frozenset(
    """
    lat latitude lon lng long longitude breedtegraad lengtegraad breitengrad laengengrad latitud
    longitud latitudine longitudine coordinates coordinate coords coord geo geom location
    """.split()  # noqa: SIM905
)
# How many there are of something, in a table of counts.
_COUNT = frozenset(
    """
    count counts cnt n freq frequency frequencies cases total population persons people patients
    aantal aantallen anzahl haeufigkeit nombre effectif cantidad frecuencia conteggio frequenza
    contagem frequencia
    """.split()  # noqa: SIM905
)
# A weight alone may be that of a body.
_WEIGHT = frozenset(
    """
    fnlwgt wgt samplingweight sampleweight surveyweight designweight householdweight
    householdweights personweight statisticalweight steekproefgewicht
    """.split()  # noqa: SIM905
)
_PERSON = frozenset(
    """
    patient patients person persons people subject participant respondent individual citizen
    customer client member user account card cardholder employee worker student pupil teacher
    beneficiary insured passenger traveller rider donor applicant resident voter subscriber
    patientid personid subjectid participantid respondentid customerid clientid memberid userid
    accountid cardid employeeid studentid beneficiaryid
    patientnummer persoon burger klant gebruiker deelnemer medewerker leerling verzekerde reiziger
    kunde benutzer teilnehmer mitarbeiter schueler versicherter personne utilisateur salarie eleve
    paciente persona cliente usuario empleado alumno paziente utente dipendente pessoa
    """.split()  # noqa: SIM905
)
_KEY = frozenset(
    """
    id ids key uid uuid guid pseudonym pseudonymous pseudo code nr no num number nummer numero
    identifier ident hash token
    """.split()  # noqa: SIM905
)
# These by themselves are keys; a number, a code or a key may be one of anything.
_CERTAIN_KEY = frozenset(("id", "ids", "uid", "uuid", "guid", "pseudonym", "identifier"))


def names_a_person(column: Name) -> bool:
    """Return whether a column by its name names a person, or leads to one.

    Examples
    --------
    >>> names_a_person("First Name"), names_a_person("work_phone"), names_a_person("drug_name")
    (True, True, False)
    """
    return _skeleton(column) in _DIRECT or bool(_DIRECT_WORDS & set(_words(column)))


def is_sensitive(column: Name) -> bool:
    """Return whether a column by its name must not be learned about a person.

    Examples
    --------
    >>> is_sensitive("Diagnose"), is_sensitive("capital-gain"), is_sensitive("zip")
    (True, True, False)
    """
    return _begins(column, _SENSITIVE)


def is_seen_by_others(column: Name) -> bool:
    """Return whether a column by its name is special and yet visible, as origin is.

    Examples
    --------
    >>> is_seen_by_others("race"), is_seen_by_others("age")
    (True, False)
    """
    return _begins(column, _SEEN)


def is_known_to_others(column: Name) -> bool:
    """Return whether a column by its name is what others usually know about a person.

    Examples
    --------
    >>> is_known_to_others("Gender"), is_known_to_others("answer")
    (True, False)
    """
    return _begins(column, _KNOWN)


def is_birth(column: Name) -> bool:
    """Return whether a column by its name is of births.

    Examples
    --------
    >>> is_birth("date_of_birth"), is_birth("Geburtsdatum"), is_birth("admitted")
    (True, True, False)
    """
    return _begins(column, _BIRTH)


def is_coordinate(column: Name) -> bool:
    """Return whether a column by its name is of places on a map.

    Examples
    --------
    >>> is_coordinate("lat"), is_coordinate("home_longitude"), is_coordinate("latency")
    (True, True, False)
    """
    return bool({*_words(column)[-1:], _skeleton(column)} & _COORDINATE)


def is_count(column: Name) -> bool:
    """Return whether a column by its name counts people or cases.

    Examples
    --------
    >>> is_count("n"), is_count("patient_count"), is_count("children"), is_count("account")
    (True, True, False, False)
    """
    return bool({*_words(column)[-1:], _skeleton(column)} & _COUNT)


def keys_of_persons() -> tuple[str, ...]:
    """Return the names, without case and signs, that keys inside cells are compared with."""
    return tuple(sorted(_DIRECT | _DIRECT_WORDS))


def is_weight(column: Name) -> bool:
    """Return whether a column by its name may be a sampling weight.

    Examples
    --------
    >>> is_weight("sampling_weight"), is_weight("weight")
    (True, False)
    """
    return _skeleton(column) in _WEIGHT


def is_key_of_person(column: Name) -> bool:
    """Return whether a column by its name says whose row it is.

    Examples
    --------
    >>> [is_key_of_person(name) for name in ("patient", "userId", "id", "order_id", "patient_age")]
    [True, True, True, False, False]
    """
    words = set(_words(column))
    of_whom = bool(words & _PERSON) or bool(words & _CERTAIN_KEY)
    return of_whom and words <= (_PERSON | _KEY)


def is_key(column: Name) -> bool:
    """Return whether a column by its name is a key of anything.

    Examples
    --------
    >>> is_key("order_id"), is_key("patient"), is_key("identity"), is_key("number_of_rooms")
    (True, True, False, False)
    """
    return is_key_of_person(column) or bool(_CERTAIN_KEY & set(_words(column)))


def _begins(column: Name, beginnings: tuple[str, ...]) -> bool:
    return any(word.startswith(beginnings) for word in (*_words(column), _skeleton(column)))


def _words(column: Name) -> list[str]:
    """Split a name into words, as in home_phone, homePhone or Home phone."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", _plain(column))
    return re.findall(r"[^\W\d_]+", apart.casefold())


def _skeleton(column: Name) -> str:
    return "".join(_words(column))


def _plain(column: Name) -> str:
    apart = unicodedata.normalize("NFKD", str(column))
    return "".join(sign for sign in apart if not unicodedata.combining(sign))
