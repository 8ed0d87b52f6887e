"""What the names of columns mean: words for what identifies people, what others know of them, and what they would not
have known.

Words are English, with common German, French, Spanish, Italian and Dutch ones, without accents.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

from ringfence.spec.attributes import Role

Nature: TypeAlias = Literal["age", "year", "day", "postcode", "amount", "category"]


@dataclass(frozen=True)
class ColumnMeaning:
    """What a column holds by its name: its role, why, and of what nature its values should be.

    Of several meanings that a name may have, the one of the highest rank is taken, then the one of the longest word.
    """

    key: str
    role: Role
    reason: str
    nature: Nature
    rank: int
    words: tuple[str, ...]


def _meaning(key: str, role: Role, reason: str, nature: Nature, rank: int, words: str) -> ColumnMeaning:
    return ColumnMeaning(key, role, reason, nature, rank, tuple(word.strip() for word in words.split(",")))


MEANINGS = (
    _meaning("name", "identifier", "names a person", "category", 0, """
        name, surname, forename, vorname, nachname, familienname, nom, prenom, nombre, apellido, nome, cognome, naam,
        voornaam, achternaam"""),
    _meaning("key", "identifier", "stands for one person or record", "category", 0, """
        id, uuid, guid, identifier, key, number, no, nr, num, nummer, numero, kennung, schluessel, identifiant,
        identificador, identificativo, sleutel, index, pseudonym"""),
    _meaning("person", "identifier", "stands for one person or record", "category", 0, """
        person, patient, customer, client, user, member, employee, student, pupil, citizen, subject, participant,
        respondent, insured, donor, applicant, policyholder, policy holder, claimant, beneficiary, enrollee, borrower,
        passenger, resident, inmate, voter, record, row, case, kunde, kunden, patienten, personen, mitarbeiter,
        mitglied, schueler, schuler, teilnehmer, proband, probanden, versicherter, versicherten, salarie, etudiant,
        eleve, assure, beneficiaire, paciente, cliente, empleado, estudiante, alumno, asegurado, paziente, dipendente,
        studente, assicurato, klant, medewerker, deelnemer, verzekerde"""),
    _meaning("contact", "identifier", "reaches a person", "category", 1, """
        email, e mail, mail, phone, telephone, mobile, mobile number, cell, fax, telefon, handy, mobil, mobilnummer,
        courriel, portable, correo, telefono, movil, cellulare, telefoon, mobiel"""),
    _meaning("address", "identifier", "says where a person lives", "category", 1, """
        address, street, house number, adresse, anschrift, strasse, hausnummer, rue, direccion, calle, domicilio,
        indirizzo, adres, straat, huisnummer"""),
    _meaning("account", "identifier", "is an account of a person", "category", 1, """
        iban, bic, account, account number, bank account, credit card, card number, konto, kontonummer, kreditkarte,
        compte bancaire, numero de compte, carte bancaire, cuenta, tarjeta, conto corrente, carta di credito, rekening,
        rekeningnummer"""),
    _meaning("official", "identifier", "is an official number of a person", "category", 1, """
        ssn, social security, social insurance, national insurance, passport, national id, tax id, driving licence,
        driver license, insurance number, nhs number, mrn, sozialversicherungsnummer, svnr, versichertennummer,
        personalausweis, ausweis, reisepass, steuernummer, steuer id, numero de securite sociale, nir, passeport, dni,
        nif, nie, pasaporte, codice fiscale, passaporto, bsn, paspoort, burgerservicenummer, personnummer, license
        plate, kennzeichen"""),
    _meaning("online", "identifier", "is a trace of a person or a device", "category", 1, """
        ip, url, photo, signature, unterschrift"""),
    _meaning("device", "identifier", "is a device or a login of a person", "category", 1, """
        device, username, user name, login, nickname, mac address, cookie, imei, imsi, msisdn, benutzername, benutzer,
        utilisateur, usuario, utente, gebruiker"""),
    _meaning("note", "identifier", "notes, which may hold names, telephone numbers or anything else", "category", 4, """
        note, notes, comment, comments, remark, remarks, memo, free text, freetext, message, annotation, narrative,
        observation, bemerkung, bemerkungen, anmerkung, anmerkungen, kommentar, notiz, notizen, freitext, hinweis,
        mitteilung, remarque, remarques, commentaire, commentaires, nota, notas, comentario, comentarios,
        observacion, observaciones, commento, commenti, osservazione, osservazioni, opmerking, opmerkingen,
        toelichting, notitie, observacao, uwagi, merknad, anmarkning, bemaerkning"""),
    _meaning("weights", "identifier", "survey weights, by which a sample stands for its population", "amount", 4, """
        weight, gewicht, poids, peso, survey weight, sampling weight, sample weight, instance weight, person weight,
        household weight, final weight, design weight, replicate weight, expansion factor, weighting factor, fnlwgt,
        wgt, pweight, wtfinl, perwt, hhwt, hochrechnungsfaktor, gewichtungsfaktor, stichprobengewicht, ponderation,
        coefficient de ponderation, factor de expansion, factor de elevacion, peso campionario, weegfactor"""),
    _meaning("age", "quasi", "an age, which others know or can guess", "age", 3, """
        age, alter, edad, eta, leeftijd, idade, altersgruppe"""),
    _meaning("sex", "quasi", "the sex, which others know", "category", 3, """
        sex, gender, geschlecht, sexe, sexo, genero, sesso, genere, geslacht, anrede, salutation"""),
    _meaning("postcode", "quasi", "a postcode, which others know or can look up", "postcode", 3, """
        zip, zip code, postcode, post code, postal code, postal, plz, postleitzahl, code postal, codigo postal, cap,
        codice postale, postnummer, postnr"""),
    _meaning("day", "quasi", "a date, which others may remember", "day", 2, """
        date, day, dob, birthday, birth date, date of birth, datum, geburtsdatum, geburtstag, date de naissance,
        fecha, fecha de nacimiento, data di nascita, geboortedatum, born, timestamp, admitted, admission,
        discharged, discharge, aufnahme, entlassung"""),
    _meaning("year", "quasi", "a year, which others may remember", "year", 2, """
        year, birth year, year of birth, yob, jahr, geburtsjahr, jahrgang, annee, annee de naissance, ano, anno, anno
        di nascita, jaar, geboortejaar"""),
    _meaning("place", "quasi", "a place, which others know", "category", 1, """
        place, city, town, village, country, region, state, county, district, province, municipality, commune, location,
        residence, neighbourhood, neighborhood, ward, continent, area, stadt, ort,
        wohnort, wohnsitz, land, bundesland, kreis, landkreis, gemeinde, kanton, canton, ville, pays, departement,
        ciudad, pais, provincia, municipio, estado, citta, paese, regione, comune, stad, gemeente, provincie, plaats,
        woonplaats"""),
    _meaning("position", "quasi", "a position on the map, which others know", "amount", 2, """
        latitude, longitude, lat, lon, lng, northing, easting, coordinate, breitengrad, langengrad, laengengrad"""),
    _meaning("marital", "quasi", "the marital status, which others know", "category", 2, """
        marital, marital status, civil status, familienstand, zivilstand, etat civil, situation familiale, estado
        civil, stato civile, burgerlijke staat, spouse, married, verheiratet"""),
    _meaning("work", "quasi", "work, of which others know", "category", 1, """
        occupation, job, profession, employer, employment, employed, work class, work, industry, sector, position, job
        title, beruf, taetigkeit, tatigkeit, arbeitgeber, branche, beschaeftigung, metier, emploi, employeur,
        ocupacion, profesion, empleo, trabajo, professione, lavoro, impiego, occupazione, beroep, werkgever, baan,
        department, abteilung, veteran"""),
    _meaning("education", "quasi", "schooling, of which others know", "category", 1, """
        education, school, klasse, schulklasse, classe, degree, schooling, qualification, university, college,
        bildung, schule, schulabschluss, abschluss, ausbildung, hochschule, ecole, etudes, diplome, educacion,
        estudios, escuela, istruzione, titolo di studio, scuola, opleiding, onderwijs"""),
    _meaning("origin", "quasi", "the origin, which others know or can guess", "category", 1, """
        origin, race, ethnicity, ethnic, ethnic group, nationality, citizenship, migration, immigration, birthplace,
        place of birth, country of birth, language, mother tongue, herkunft, staatsangehoerigkeit,
        staatsangehorigkeit, nationalitat, nationalitaet, geburtsort, geburtsland, migrationshintergrund, sprache,
        muttersprache, origine, nationalite, langue, lieu de naissance, origen, nacionalidad, etnia, raza, idioma,
        nazionalita, cittadinanza, lingua, herkomst, nationaliteit, taal"""),
    _meaning("household", "quasi", "the household, of which others know", "amount", 1, """
        household, household size, children, dependents, dependants, family, family size, siblings, relationship,
        haushalt, haushaltsgrosse, haushaltsgroesse, kinder, kinderzahl, menage, enfants, hogar, hijos, nucleo
        familiare, figli, huishouden, kinderen"""),
    _meaning("body", "quasi", "what others can see", "amount", 1, """
        height, weight, gewicht, poids, peso, eye color, eye colour, hair color, hair colour, koerpergroesse,
        korpergrosse, augenfarbe, haarfarbe, estatura, statura, lichaamslengte"""),
    _meaning("health", "sensitive", "about health, which people keep to themselves", "category", 1, """
        illness, disease, diagnosis, diagnoses, icd, condition, symptom, medication, medicine, medical, drug,
        prescription, treatment, therapy, procedure, surgery, disability, disabled, allergy, allergies, hiv, aids,
        cancer, tumor, tumour, diabetes, diabetic, pregnancy, pregnant, blood, blood group, blood pressure, bmi,
        cholesterol, glucose, smoker, smoking, alcohol, mental, depression, vaccine, vaccination, vaccinated, test
        result, health, krankheit, erkrankung, diagnose, medikament, arznei, behandlung, therapie, befund, behinderung,
        allergie, schwanger, raucher, blutgruppe, blutdruck, gesundheit, maladie, diagnostic, medicament, traitement,
        handicap, enceinte, sante, enfermedad, diagnostico, medicamento, tratamiento, discapacidad, salud, malattia,
        diagnosi, farmaco, trattamento, terapia, disabilita, salute, ziekte, aandoening, medicijn, behandeling,
        gezondheid"""),
    _meaning("money", "sensitive", "about money, which people keep to themselves", "amount", 1, """
        income, salary, wage, pay, earnings, remuneration, bonus, pension, debt, loan, credit, credit score,
        balance, wealth, asset, savings, mortgage, rent, tax, benefit, capital gain, capital loss, spending,
        expense, revenue, amount, price, premium, turnover, cost, charge, fee, bill, kosten, rechnung, gebuehr,
        cout, frais, coste, costo, costi, gasto, einkommen, gehalt, lohn, verdienst, rente, schulden, kredit,
        kontostand, vermogen, vermoegen, miete, steuer, betrag, salaire, revenu, dette, impot, loyer, montant,
        salario, sueldo, ingreso, renta, deuda, impuesto, importe, stipendio, reddito, debito, prestito, importo,
        loon, salaris, inkomen, schuld, lening, bedrag"""),
    _meaning("belief", "sensitive", "about beliefs or opinions, which people keep to themselves", "category", 1, """
        religion, religious, faith, denomination, belief, political, politics, party, vote, voted, voting, opinion,
        attitude, union, trade union, satisfaction, konfession, glaube, partei, wahl, meinung, gewerkschaft,
        zufriedenheit, croyance, parti, syndicat, voto, partido, sindicato, opinione, religione, partito, sindacato,
        geloof, godsdienst, partij, mening, vakbond"""),
    _meaning("life", "sensitive", "what people would not have told", "category", 1, """
        sexual orientation, orientation, conviction, criminal, crime, offence, offense, sentence, arrest, vorstrafe,
        straftat, delit, condamnation, delito, condena, reato, condanna, veroordeling, misdrijf, adoption, abortion,
        violence"""),
    _meaning("result", "sensitive", "a result of a person, which others need not know", "amount", 1, """
        score, grade, gpa, exam, mark, rating, note, noten, zeugnis, mathenote, deutschnote, englischnote, endnote,
        gesamtnote, notendurchschnitt, evaluation, bewertung, beurteilung, zensur, punteggio, valutazione,
        calificacion, cijfer"""),
)  # fmt: skip

BARE_WEIGHTS = {"weight", "weights", "gewicht", "gewichte", "poids", "peso"}
"""Names that say no more than that something weighs."""
OF_BODIES = {
    "kg", "kgs", "kilo", "kilos", "kilogram", "kilograms", "kilogramm", "g", "gram", "grams", "gramm", "lb", "lbs",
    "pound", "pounds", "body", "birth", "korper", "geburt", "geburts", "corps", "naissance",
}  # fmt: skip
"""Words beside them that tell what does: somebody, and no survey."""

KEYS, PEOPLE = (next(meaning.words for meaning in MEANINGS if meaning.key == key) for key in ("key", "person"))

ABBREVIATED = (
    "pat", "pt", "cust", "emp", "pers", "kd", "subj", "usubj", "bene", "enrol", "indiv", "individual", "personal",
    "mitglieds", "staff", "worker", "child", "mother", "father", "parent", "driver", "player", "guest", "visitor",
)  # fmt: skip
"""Words that are about people where a key stands beside them: `cust_no`, and not `personal loan`."""

PARTS_OF_PEOPLE = tuple(part for phrase in PEOPLE if " " in phrase for part in phrase.split())
"""The words of those that are two."""

OF_ONE = {"official": 3, "contact": 2, "account": 2, "device": 2}
"""What somebody has for himself, by meaning, and how surely: a telephone number may be that of a family."""


def words_of(name: str) -> list[str]:
    """Return the words of a column's name, in lower case and without accents.

    >>> words_of("dateOfBirth"), words_of("CODE-POSTAL_2"), words_of("Größe"), words_of("Kundennummer")
    (['date', 'of', 'birth'], ['code', 'postal'], ['grosse'], ['kunden', 'nummer'])
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    plain = "".join(c for c in unicodedata.normalize("NFKD", apart.casefold()) if not unicodedata.combining(c))
    plain = plain.replace("n°", "no ")
    whose = re.sub(rf"\b({'|'.join((*PEOPLE, *ABBREVIATED))})({'|'.join(KEYS)})\b", r"\1 \2", plain)
    return [word for word in re.split(r"[\W\d_]+", whose) if word]


@cache
def meanings_of(name: str) -> tuple[ColumnMeaning, ...]:
    """Return what a column's name may mean, the likeliest first.

    A word or phrase counts where it stands among the words of the name, also written as one word; long words also at
    either end of a longer one, as in German.

    >>> [meaning.key for meaning in meanings_of("Jahreseinkommen")], meanings_of("average")
    (['money'], ())
    """
    words = words_of(name)
    found = {
        meaning: max((len(phrase) for phrase in _matches(words, meaning.words)), default=0) for meaning in MEANINGS
    }
    hits = [meaning for meaning in MEANINGS if found[meaning]]
    whose = tells_whose(name)
    return tuple(
        sorted(hits, key=lambda meaning: (not (whose and meaning.key == "person"), -meaning.rank, -found[meaning]))
    )


def is_bare_key(name: str) -> bool:
    """Whether a name says no more than that its values are keys, or whose: `id`, `patient_no`, `Kundennummer`.

    >>> is_bare_key("id"), is_bare_key("customer_id"), is_bare_key("cust_id"), is_bare_key("hospital_id")
    (True, True, True, False)
    """
    words = words_of(name)
    whose = (*PEOPLE, *PARTS_OF_PEOPLE, *(ABBREVIATED if {*words} & {*KEYS} else ()))
    return all(word in KEYS or word.removesuffix("s") in whose or word in whose for word in words)


def is_bare(name: str, meaning: ColumnMeaning) -> bool:
    """Whether a name says no more than what it means, and that it is a key: `account_no`, not `account_balance`."""
    parts = {part for phrase in meaning.words for part in phrase.split()}
    return {*words_of(name)} <= {*parts, *KEYS}


def belongs_to(name: str) -> int:
    """Return how surely a column with this name has a value for each person: 3 where it is called after people
    (`patient_id`) or official, 2 for what people mostly have for themselves (`email`), 1 for a key of anything (`id`),
    0 for others.

    >>> belongs_to("cust_no"), belongs_to("MRN"), belongs_to("email"), belongs_to("id"), belongs_to("account balance")
    (3, 3, 2, 1, 0)
    """
    if tells_whose(name):
        return 3
    meant = next(iter(meanings_of(name)), None)
    sure = OF_ONE.get(meant.key, 0) if meant is not None and is_bare(name, meant) else 0
    return max(sure, int(is_bare_key(name)))


def tells_whose(name: str) -> bool:
    """Whether a name says that its values stand for people, each for one: not for rows, cases or records.

    >>> tells_whose("patient"), tells_whose("Kundennummer"), tells_whose("id"), tells_whose("case_id")
    (True, True, False, False)
    """
    words = words_of(name)
    whose = {*words, *(word.removesuffix("s") for word in words)} & {*PEOPLE, *PARTS_OF_PEOPLE, *ABBREVIATED}
    return is_bare_key(name) and bool(whose - {"record", "row", "case"})


def _matches(words: list[str], phrases: tuple[str, ...]) -> Iterator[str]:
    lines = [f" {' '.join(word.removesuffix(plural) for word in words)} " for plural in ("", "s", "es")]
    for phrase in phrases:
        joined = phrase.replace(" ", "")
        if any(f" {phrase} " in line or f" {joined} " in line for line in lines) or (
            len(joined) >= 6 and any(word.startswith(joined) or word.endswith(joined) for word in words)
        ):
            yield phrase
